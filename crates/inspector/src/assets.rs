//! The files of the folder `page`: one row each.

/// A row of the table: the name, and the text.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../page/", $name)))),*]
    };
}

/// The files of the page, by name.
pub(crate) const FILES: &[(&str, &str)] = files![
    "api.js",
    "appview.js",
    "ask.js",
    "base.css",
    "call.js",
    "collection.js",
    "content.js",
    "context.js",
    "copyas.js",
    "diagrams.js",
    "diff.js",
    "dom.js",
    "draft.js",
    "edit.js",
    "editor.js",
    "events.js",
    "feed.js",
    "fields.js",
    "filter.js",
    "folders.js",
    "form.js",
    "format.js",
    "formats.js",
    "icon.svg",
    "index.html",
    "json.js",
    "keys.js",
    "layout.css",
    "lists.js",
    "main.js",
    "markdown.js",
    "mcp.js",
    "palette.js",
    "panel-compare.js",
    "panel-lint.js",
    "panel-load.js",
    "panel-logs.js",
    "panel-messages.js",
    "panel-more.js",
    "panel-overview.js",
    "panel-prompts.js",
    "panel-resources.js",
    "panel-skills.js",
    "panel-tasks.js",
    "panel-tools.js",
    "panels.js",
    "parts.css",
    "parts.js",
    "recording.js",
    "result.js",
    "router.js",
    "schema.js",
    "session.js",
    "settings.js",
    "shell.js",
    "sse.js",
    "store.js",
    "suggest.js",
    "tasks.js",
    "timeline.js",
    "tree.js",
    "uritemplate.js",
    "visible.js",
    "vlist.js",
];

/// The files of the page that views of apps run in, which is served at an origin of its own.
pub(crate) const SANDBOX: &[(&str, &str)] = files!["sandbox.html", "sandbox.js"];

/// Returns the text of a file of the page, or nothing.
pub(crate) fn text(name: &str) -> &'static str {
    FILES.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| text)
}
