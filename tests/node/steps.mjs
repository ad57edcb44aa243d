// What every client is put through: list, search, describe, execute, an error, a cancel and a close.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

/** Packages live in a cache folder, not beside this file. */
export const load = createRequire(`${process.env.CODEMODE_NODE_MODULES}/`);

export const IDENTITY = { name: "codemoded-tests", version: "1" };

const PROGRAM = `def main():
    records.put(key = "fruit", value = {"name": "apple"})
    return records.lookup(key = "fruit")["count"] > 0
`;

// Nobody waits for it to the end.
const LONG = `def main():
    faulty.note(text = "begun")
    faulty.wait()
`;

/** `client` is `{ list(), call(tool, args, options), close() }`, in the shapes of the SDK. */
export async function walk(client) {
  const { tools } = await client.list();
  assert.deepEqual(tools.map((tool) => tool.name), ["search_api", "describe_api", "execute"]);
  done("list");

  const found = await client.call("search_api", { query: "count the entries under a key" });
  assert.equal(found.structuredContent.results[0].name, "records.lookup");
  assert.deepEqual(JSON.parse(found.content[0].text), found.structuredContent);
  done("search");

  const described = await client.call("describe_api", { name: "records.lookup" });
  assert.match(described.structuredContent.signature, /^records\.lookup\(\*, key: str/);
  done("describe");

  const executed = await client.call("execute", { source: PROGRAM });
  assert.deepEqual(executed.structuredContent, { result: true });
  done("execute");

  const failed = await client.call("execute", { source: "def main():\n    return records.lookup(ky = \"a\")\n" });
  assert.equal(failed.isError, true);
  assert.equal(failed.structuredContent, undefined);
  assert.match(failed.content[0].text, /^invalid capability arguments: .*unknown argument "ky"; did you mean "key"\?/);
  done("error");

  const cancelling = new AbortController();
  const onprogress = () => cancelling.abort("enough");
  await assert.rejects(client.call("execute", { source: LONG }, { signal: cancelling.signal, onprogress }));
  // What comes after a cancel is served as ever.
  await client.list();
  done("cancel");

  await client.close();
  done("close");
}

function done(step) {
  console.log(`ok: ${step}`);
}
