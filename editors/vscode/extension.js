// Starts the language server for scripts: ppscript lsp.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("ppscript").get("path");
  client = new LanguageClient("ppscript", "ppscript", { command, args: ["lsp"] }, {
    documentSelector: [{ language: "ppscript" }],
  });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
