// Runs the extension where VS Code and its language client are others, which tell.
"use strict";
const Module = require("module");
const path = require("path");
const [extension, folder] = process.argv.slice(2);
const registered = {};
let server = ["tensorgen", "lsp"];

const vscode = {
  commands: {
    registerCommand: (name, run) => {
      registered[name] = run;
      return { dispose() {} };
    },
  },
  window: { showErrorMessage: (text) => console.log("error: " + text.split(" Install")[0]) },
  workspace: {
    workspaceFolders: [{ uri: { fsPath: folder } }],
    getConfiguration: () => ({ get: () => server }),
    onDidChangeConfiguration: (run) => {
      registered.changed = run;
      return { dispose() {} };
    },
  },
};

class LanguageClient {
  constructor(id, name, run, options) {
    this.run = run;
    this.languages = options.documentSelector.map((one) => one.language);
  }
  async start() {
    console.log(["start", this.run.command, ...this.run.args].join(" "));
    if (this.run.command === "none") throw new Error("not found");
    console.log(["for", ...this.languages].join(" "));
  }
  async stop() {
    console.log("stop");
  }
}

const load = Module._load;
Module._load = (name, ...more) => {
  if (name === "vscode") return vscode;
  if (name === "vscode-languageclient/node") return { LanguageClient };
  return load(name, ...more);
};

async function main() {
  const { activate, deactivate } = require(path.join(extension, "extension.js"));
  await activate({ subscriptions: [] });
  server = ["bin/tensorgen", "lsp", "--stdio"];
  await registered.changed({ affectsConfiguration: (key) => key === "tensorgen.server" });
  server = ["none"];
  await registered["tensorgen.restart"]();
  await deactivate();
}

main();
