//! Fixes for error messages that many servers exit with.

/// A part of an error message, and the fix. The first match counts.
const REASONS: &[(&str, &str)] = &[
    ("ModuleNotFoundError", PACKAGES),
    ("ImportError", PACKAGES),
    ("ERR_MODULE_NOT_FOUND", PACKAGES),
    ("Cannot find module", PACKAGES),
    ("Cannot find package", PACKAGES),
    ("npm error 404", "check the package name: it is not in the npm registry"),
    ("npm ERR! 404", "check the package name: it is not in the npm registry"),
    ("could not determine executable", "check the package name: npx finds no executable in it"),
    ("No solution found when resolving", "check the package name and version: uv finds no match"),
    ("not found in the package registry", "check the package name: it is not in the registry"),
    ("SyntaxError", "check the version of the interpreter, and the file"),
    ("EADDRINUSE", ADDRESS),
    ("Address already in use", ADDRESS),
    ("EACCES", "check the permissions of the file: `chmod +x` makes it executable"),
    ("ermission denied", "check the permissions of the file: `chmod +x` makes it executable"),
    ("cannot execute binary", "rebuild it for this machine: the binary is for another platform"),
    ("Exec format error", "rebuild it for this machine: the binary is for another platform"),
    ("annot connect to the Docker daemon", "start Docker first"),
    ("error during connect", "start Docker first"),
    ("nable to find image", "check the image name, or `docker pull` it first"),
    ("API key", KEY),
    ("API_KEY", KEY),
    ("api key", KEY),
    ("certificate", "check that the server's certificate is trusted on this machine and has not expired"),
    ("dns error", "check the host name and the network connection"),
    ("failed to lookup address", "check the host name and the network connection"),
    ("with the status 404", "check that the URL is that of the MCP endpoint, such as https://example.com/mcp"),
    ("with the status 405", "check that the URL is that of the MCP endpoint, such as https://example.com/mcp"),
    ("No such file", "check that the file exists; absolute paths are safest"),
    ("ENOENT", "check that the file exists; absolute paths are safest"),
];

const PACKAGES: &str = "install its dependencies, in the directory or environment that it is started in";
const ADDRESS: &str = "stop the other program on that address, or use another address";
const KEY: &str = "set the API key in its configuration: `couplet install --force -e NAME=VALUE`";

/// Returns the fix for an error message.
pub(super) fn fix(words: &str) -> Option<&'static str> {
    REASONS.iter().find(|(part, _)| words.contains(part)).map(|(_, fix)| *fix)
}
