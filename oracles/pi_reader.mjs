// What pi's own SessionManager makes of session files: `node pi_reader.mjs <pi's dist/index.js>`, paths as JSON on stdin.
// The files must be copies: opening one migrates it, and pi 0.73 empties a file that has no header.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { SessionManager, buildSessionContext, convertToLlm } = await import(pathToFileURL(process.argv[2]).href);

function session(path) {
  const manager = SessionManager.open(path);
  const entries = manager.getEntries();
  refuseCircles(entries);
  const parents = new Set(entries.map((entry) => entry.parentId));
  const tips = entries.filter((entry) => entry.id !== undefined && !parents.has(entry.id));
  const context = manager.buildSessionContext();
  return {
    header: manager.getHeader(),
    entries,
    leaf: manager.getLeafId(),
    branches: Object.fromEntries(tips.map((tip) => [tip.id, manager.getBranch(tip.id).map((entry) => entry.id)])),
    messages: context.messages,
    ...contexts(entries),
    model: context.model?.modelId ?? null,
    thinking_level: context.thinkingLevel ?? null,
    error: null,
  };
}

// What pi would send if it went on after each entry, in the words in which the model gets it (a compaction's summary
// bare; answers that were broken off are left out by pi's providers), by the numbers of the messages: most are in many
// contexts.
function contexts(entries) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const numbers = new Map();
  const number = (message) => {
    const text = JSON.stringify(message);
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  };
  const told = (message) => {
    if (message.stopReason === "error" || message.stopReason === "aborted") return [];
    return message.role === "compactionSummary" ? [message] : convertToLlm([message]);
  };
  const seen = [...byId.keys()].filter((id) => id !== undefined);
  const found = seen.map((id) => [id, buildSessionContext(entries, id, byId).messages.flatMap(told).map(number)]);
  return { contexts: Object.fromEntries(found), said: [...numbers.keys()].map((text) => JSON.parse(text)) };
}

// pi walks in a circle of parents for ever.
function refuseCircles(entries) {
  const named = entries.filter((entry) => entry?.id && entry.parentId);
  const parents = new Map(named.map((entry) => [entry.id, entry.parentId]));
  for (const start of parents.keys()) {
    const seen = new Set();
    for (let id = start; parents.has(id); id = parents.get(id)) {
      if (seen.has(id)) throw new Error(`the parents of ${start} go round in a circle`);
      seen.add(id);
    }
  }
}

const sessions = JSON.parse(readFileSync(0, "utf8")).map((path) => {
  try {
    return session(path);
  } catch (error) {
    return { error: String(error) };
  }
});
process.stdout.write(JSON.stringify(sessions), () => process.exit(0));
