//! What the last words of a server mean, where many servers have died with them.

/// A part of what was said, and what to do about it. The first that fits counts.
const REASONS: &[(&str, &str)] = &[
    ("ModuleNotFoundError", PACKAGES),
    ("ImportError", PACKAGES),
    ("ERR_MODULE_NOT_FOUND", PACKAGES),
    ("Cannot find module", PACKAGES),
    ("Cannot find package", PACKAGES),
    ("npm error 404", "see that the name of the package is right: the registry of npm does not have it"),
    ("npm ERR! 404", "see that the name of the package is right: the registry of npm does not have it"),
    ("could not determine executable", "see that the package has a program: npx finds none in it"),
    ("No solution found when resolving", "see that the name and the version of the package are right: uv finds none"),
    ("not found in the package registry", "see that the name of the package is right: the registry does not have it"),
    ("SyntaxError", "see that the interpreter is as new as the server needs, and the file is what it should be"),
    ("EADDRINUSE", ADDRESS),
    ("Address already in use", ADDRESS),
    ("EACCES", "see that you may read and run the file: `chmod +x`"),
    ("ermission denied", "see that you may read and run the file: `chmod +x`"),
    ("cannot execute binary", "build it for this machine: it is a program for another kind"),
    ("Exec format error", "build it for this machine: it is a program for another kind"),
    ("annot connect to the Docker daemon", "start Docker first"),
    ("error during connect", "start Docker first"),
    ("nable to find image", "see that the name of the image is right, or `docker pull` it first"),
    ("API key", KEY),
    ("API_KEY", KEY),
    ("api key", KEY),
    ("certificate", "see that the server's certificate is one that this machine trusts, and is not out of date"),
    ("dns error", "see that the name of the machine is right, and that there is a network"),
    ("failed to lookup address", "see that the name of the machine is right, and that there is a network"),
    ("with the status 404", "see that the URL is that of the endpoint, such as https://example.com/mcp"),
    ("with the status 405", "see that the URL is that of the endpoint, such as https://example.com/mcp"),
    ("No such file", "see that the file that it names is there; paths are best written whole"),
    ("ENOENT", "see that the file that it names is there; paths are best written whole"),
];

const PACKAGES: &str = "install the packages that it needs, in the folder or the environment that it is started in";
const ADDRESS: &str = "end the other program at that address, or let the server use another one";
const KEY: &str = "give it the key that it wants, as a variable in its entry: `couplet install --force -e NAME=VALUE`";

/// What to do about something that was said.
pub(super) fn fix(words: &str) -> Option<&'static str> {
    REASONS.iter().find(|(part, _)| words.contains(part)).map(|(_, fix)| *fix)
}
