// Lets pi's own SessionManager go on with a session file: `node pi_writer.mjs <pi's dist/index.js>`, with the path and
// the messages as JSON on stdin.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { SessionManager } = await import(pathToFileURL(process.argv[2]).href);
const { path, bodies } = JSON.parse(readFileSync(0, "utf8"));
const manager = SessionManager.open(path);
const ids = bodies.map((body) => manager.appendMessage(body));
process.stdout.write(JSON.stringify(ids), () => process.exit(0));
