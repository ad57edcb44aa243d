// The TypeScript SDK, second major version.
//
//   sdk-v2.mjs URL MODE    MODE is how it finds the revision: `legacy`, by a handshake, or `auto`, by discovery

import { IDENTITY, load, walk } from "./steps.mjs";

const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");

const [url, mode] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(new URL(url));
const client = new Client(IDENTITY, { versionNegotiation: { mode } });
await client.connect(transport);
await walk({
  list: () => client.listTools(),
  call: (name, args, options) => client.callTool({ name, arguments: args }, options),
  close: async () => {
    await transport.terminateSession?.();
    await client.close();
  },
});
