// The session keys that clawdbot's and openclaw's own code give to messages: `node key_maker.mjs <judge> <its file>`,
// the messages as JSON on stdin.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const chats = JSON.parse(readFileSync(0, "utf8")); // first: openclaw takes stdin over
const [judge, file] = process.argv.slice(2);
const place = judge === "clawdbot" ? file : join(dirname(file), "dist", "plugin-sdk", "routing.js");
const routing = await import(pathToFileURL(place).href);

function base(chat) {
  if (judge === "clawdbot") {
    return routing.buildAgentPeerSessionKey({ ...chat, peerKind: chat.kind === "direct" ? "dm" : chat.kind, peerId: chat.peer });
  }
  const { agentId, channel, accountId, kind, peer, dmScope, identityLinks } = chat;
  return routing.buildAgentSessionKey({ agentId, channel, accountId, peer: { kind, id: peer }, dmScope, identityLinks });
}

const keys = chats.map((chat) => {
  // its plugin for Matrix keeps the case of threads in rooms
  const isRoom = chat.channel === "matrix" && chat.kind !== "direct";
  const normalizeThreadId = isRoom ? (id) => id : undefined;
  return routing.resolveThreadSessionKeys({ baseSessionKey: base(chat), threadId: chat.thread, normalizeThreadId }).sessionKey;
});
process.stdout.write(JSON.stringify(keys), () => process.exit(0));
