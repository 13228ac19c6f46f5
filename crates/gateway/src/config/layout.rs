//! Where a file has its servers, and whose file it is.

use std::path::{Path, PathBuf};

use couplet_hosts::{
    Env, Format, Host, Hosts,
    tree::{Member, Node},
};

use crate::Error;

/// The key of the servers in the gateway's own files, which most hosts share.
pub(super) const SERVERS: &str = "mcpServers";

/// References to variables that every file may use, in addition to those of its host.
const REFERENCES: &[&str] = &["${env:NAME}", "${NAME}", "${NAME:-}"];

/// Files of hosts that have the servers among many other settings, and the host.
const MIXED: &[(&str, &str)] = &[
    (".claude.json", "claude-code"),
    ("settings.json", "gemini-cli"),
    ("claude_desktop_config.json", "claude-desktop"),
];

/// Other files that have a name of their own, and the host.
const NAMED: &[(&str, &str)] =
    &[("cline_mcp_settings.json", "cline"), ("opencode.json", "opencode"), ("opencode.jsonc", "opencode")];

/// The layout of a file.
pub(super) struct Layout {
    /// The host whose entries and references are used.
    pub(super) host: Host,
    /// The keys that lead to the servers.
    key: Vec<String>,
    /// Whether it is the file of a host, which has servers for the gateway and nothing else.
    pub(super) is_hosts: bool,
    /// The id of the host whose file it is.
    pub(super) owner: Option<String>,
    /// The folder of the file.
    pub(super) folder: PathBuf,
}

impl Layout {
    /// Finds the layout of a file.
    ///
    /// # Errors
    /// If it has no servers.
    pub(super) fn of(path: &Path, format: Format, root: &Node, env: &Env) -> Result<Self, Error> {
        let hosts = Hosts::builtin();
        let is_here = |host: &&Host| host.places(env).iter().any(|place| place.path() == path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let of = |table: &[(&str, &str)]| table.iter().find(|(file, _)| *file == name).map(|(_, id)| (*id).to_owned());
        let by_path = hosts.iter().filter(|host| find(host, root).is_some()).find(is_here);
        if root.get(SERVERS).is_some() {
            let by_path = by_path.filter(|host| host.key() == [SERVERS]);
            let host = match by_path {
                Some(host) => host,
                None => hosts.get("mcp-json")?,
            };
            let owner = by_path.map(|host| host.id().to_owned()).or_else(|| of(MIXED)).or_else(|| of(NAMED));
            let (host, key) = (host.clone().with_references(REFERENCES)?, vec![SERVERS.to_owned()]);
            return Ok(Self { host, key, is_hosts: of(MIXED).is_some(), owner, folder: folder(path).to_owned() });
        }
        let is_json = |format| matches!(format, Format::Json | Format::Jsonc);
        let same = |host: &&Host| host.format() == format || (is_json(host.format()) && is_json(format));
        let by_key = || hosts.iter().filter(same).find(|host| find(host, root).is_some());
        let Some(host) = by_path.or_else(by_key) else {
            let what = format!("it has no servers: expected a table `{SERVERS}`");
            return Err(Error::config(path, None, what).hinted("`couplet gateway schema` describes the file"));
        };
        let key = find(host, root).unwrap_or_default();
        let owner = of(NAMED).or_else(|| Some(host.id().to_owned()));
        let host = host.clone().with_references(REFERENCES)?;
        Ok(Self { host, key, is_hosts: true, owner, folder: folder(path).to_owned() })
    }

    /// Returns the entries in the order of the file, without those that are not servers.
    pub(super) fn entries<'a>(&'a self, root: &'a Node) -> Result<impl Iterator<Item = &'a Member>, String> {
        let table = root.at(&self.key).filter(|node| !matches!(node.value, couplet_hosts::tree::Value::Null));
        let members = match table {
            None => &[][..],
            Some(node) => {
                node.members().ok_or_else(|| format!("`{}` is {}, not a table", self.key.join("."), node.kind()))?
            }
        };
        // A host may mix settings with servers; in the gateway's own files each entry is one.
        let is_server = |member: &&Member| !self.is_hosts || !self.host.is_own_entry(&member.value);
        let is_setting = |node: &Node| self.host.alternate_key().is_some() && self.host.read_entry(node).is_err();
        Ok(members.iter().filter(is_server).filter(move |member| !self.is_hosts || !is_setting(&member.value)))
    }

    /// Returns the top-level key of the servers.
    pub(super) fn top(&self) -> &str {
        self.key.first().map_or(SERVERS, String::as_str)
    }
}

/// Returns the folder of a file, which relative paths in it start from.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The keys that lead to the servers of a host in a file.
fn find(host: &Host, root: &Node) -> Option<Vec<String>> {
    let is_table = |key: &&[String]| root.at(*key).is_some_and(|node| node.members().is_some());
    let looks_like_server =
        |key: &[String]| root.at(key).is_some_and(|node| node.get("command").is_some() || node.get("type").is_some());
    let alternate = host.alternate_key().filter(is_table).filter(|key| !looks_like_server(key));
    alternate.or_else(|| Some(host.key()).filter(is_table)).map(<[String]>::to_vec)
}
