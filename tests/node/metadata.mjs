// Where tokens come from, as a strict client reads it: by the challenge of a refusal, and by the well-known addresses.
//
//   metadata.mjs URL

import { load } from "./steps.mjs";

const { discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams, selectResourceURL } =
  load("@modelcontextprotocol/sdk/client/auth.js");

const url = process.argv[2];
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const refused = await fetch(url, { method: "POST", headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
const told = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl });
const found = await discoverOAuthProtectedResourceMetadata(url);
// It throws where the resource is another than the one that was asked.
const resource = await selectResourceURL(url, {}, told);
console.log(
  JSON.stringify({
    pointer: resourceMetadataUrl,
    resource,
    servers: told.authorization_servers,
    same: JSON.stringify(told) === JSON.stringify(found),
  }),
);
