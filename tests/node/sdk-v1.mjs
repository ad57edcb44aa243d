// The TypeScript SDK, first major version: the handshake revisions.
//
//   sdk-v1.mjs URL                    over HTTP
//   sdk-v1.mjs URL PROGRAM ARGUMENT…  through a program that bridges standard input and output to HTTP

import { IDENTITY, load, walk } from "./steps.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

const [url, command, ...args] = process.argv.slice(2);
const transport = command
  ? new StdioClientTransport({ command, args, stderr: "inherit", env: process.env })
  : new StreamableHTTPClientTransport(new URL(url));
const client = new Client(IDENTITY);
await client.connect(transport);
await walk({
  list: () => client.listTools(),
  call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  close: async () => {
    await transport.terminateSession?.();
    await client.close();
  },
});
