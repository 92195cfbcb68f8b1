"use strict";
// Starts `tensorgen lsp` for YAML files; the server leaves alone what is no spec.

const path = require("path");
const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** What starts the server: a name is looked up, a path starts at the open folder. */
function server() {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const [first, ...args] = workspace.getConfiguration("tensorgen").get("server");
  const isPath = first.includes("/") || first.includes("\\");
  const command = isPath && folder ? path.resolve(folder, first) : first;
  return { command, args, options: { cwd: folder } };
}

async function start() {
  const run = server();
  client = new LanguageClient("tensorgen", "tensorgen", run, {
    documentSelector: [{ language: "yaml" }, { language: "tensorgen" }],
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `tensorgen: '${run.command}' does not start (${error.message}). ` +
        "Install it by pip install 'tensorgen[lsp]', or set tensorgen.server.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("tensorgen.restart", restart),
    workspace.onDidChangeConfiguration((change) =>
      change.affectsConfiguration("tensorgen.server") ? restart() : undefined,
    ),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
