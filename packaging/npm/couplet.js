#!/usr/bin/env node
// Starts the program of the package for this platform, and ends as it ends: with its exit code, or by its signal.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `@couplet/cli-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "couplet.exe" : "couplet";

function find() {
  const { optionalDependencies } = require("../package.json");
  if (!(name in optionalDependencies)) {
    const known = Object.keys(optionalDependencies).map((key) => key.replace("@couplet/cli-", ""));
    return fail(
      `there is no program for ${process.platform}-${process.arch}; there are ${known.join(", ")}.\n` +
        "With Rust, `cargo install couplet-cli` builds it.",
    );
  }
  try {
    return require.resolve(`${name}/bin/${program}`);
  } catch {
    return fail(
      `the package \`${name}\` is not installed. It is an optional dependency: install again without ` +
        "`--omit=optional` (`--no-optional`), and without a `node_modules` of another platform.",
    );
  }
}

function fail(why) {
  console.error(`couplet: ${why}`);
  process.exit(1);
}

const child = spawn(find(), process.argv.slice(2), { stdio: "inherit", windowsHide: true });

// The program decides what a signal means. A terminal sends SIGINT to both processes, and the program takes a second one as
// "at once": it is passed on only where there is no terminal.
const isTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !isTerminal) child.kill(signal);
  });
}

child.on("error", (error) => fail(`the program cannot be started: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // A signal that does not end this process, such as one that it ignores, still has a number.
  setTimeout(() => process.exit(128 + (os.constants.signals[signal] ?? 0)), 1000);
});
