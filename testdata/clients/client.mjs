// Drives the server given as the argument with the client of the TypeScript SDK, and prints what it saw
// as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "typescript-sdk", version: "1" });
await client.connect(new StdioClientTransport({ command: process.argv[2], stderr: "inherit" }));

const run = (code, options) =>
  client.callTool({ name: "execute_code", arguments: { code } }, undefined, options);

const report = { server: client.getServerVersion().name };
report.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();

const printed = await run("print(6 * 7)");
report.stdout = JSON.parse(printed.content.at(-1).text).stdout;

const plotted = await run("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()");
report.blocks = plotted.content.map((block) => block.mimeType ?? block.type);
report.signature = Buffer.from(plotted.content[0].data ?? "", "base64").subarray(1, 4).toString();

// The SDK sends notifications/cancelled when the signal fires.
const abort = new AbortController();
const began = Date.now();
const endless = run("print('started', flush=True)\nwhile True: pass", {
  signal: abort.signal,
  onprogress: () => abort.abort("enough"),
});
report.cancelled = await endless.then(
  () => false,
  () => Date.now() - began < 10_000,
);
report.after = JSON.parse((await run("print('alive')")).content.at(-1).text).stdout;

await client.close();
console.log(JSON.stringify(report));
