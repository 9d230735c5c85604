// The same as sdk_client.py, with an official SDK in TypeScript: arguments are the folder where npm has installed it,
// and its name.
"use strict";
const readline = require("node:readline");
const { createRequire } = require("node:module");

const [folder, name] = process.argv.slice(2);
const Client = createRequire(`${folder}/`)(name).default;
const METHODS = {
  chat: (client) => client.chat.completions,
  responses: (client) => client.responses,
  messages: (client) => client.messages,
};

function kinds(error) {
  const names = [];
  for (let one = error.constructor; one && one.name; one = Object.getPrototypeOf(one)) names.push(one.name);
  return names;
}

async function ask(call) {
  const client = new Client({ apiKey: call.key, baseURL: call.baseUrl });
  const told = { kinds: [], text: "", status: 200, requestId: null };
  const began = performance.now();
  try {
    const answer = await METHODS[call.way](client).create(call.arguments);
    if (call.arguments.stream) for await (const _ of answer);
  } catch (error) {
    told.kinds = kinds(error);
    told.text = error.message;
    told.status = error.status ?? null;
    told.requestId = error.requestID ?? error.request_id ?? null;
  }
  return { ...told, seconds: (performance.now() - began) / 1000 };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await Promise.all(JSON.parse(line).map(ask))));
  }
})();
