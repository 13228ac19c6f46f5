//! What a person would type to add a revision that differs in nothing, and a request that does nothing.

/// An edit for one place of a recipe.
pub(super) struct Edit {
    /// The place, as CONTRIBUTING.md names it.
    pub(super) place: &'static str,
    /// The file, which is the place itself or belongs to it.
    pub(super) file: &'static str,
    pub(super) change: Change,
}

/// What is done to the file.
pub(super) enum Change {
    /// Every occurrence of the first text becomes the second one.
    Replace(&'static str, &'static str),
    /// The file is new, and a copy of another one.
    CopyOf(&'static str),
}

const fn replace(file: &'static str, old: &'static str, new: &'static str) -> Edit {
    Edit { place: file, file, change: Change::Replace(old, new) }
}

const VERSION: &str = "crates/types/src/version.rs";
const ROW: &str = "crates/core/src/wire/revision.rs";
const TEST: &str = "crates/macros/src/test.rs";
const TABLE: &str = "crates/vocab/src/table/protocol.txt";
const SCHEMAS: &str = "crates/types/tests/schemas";
const EXAMPLES: &str = "crates/vocab/tests/vocab/official.rs";

/// The revision 2027-01-01.
pub(super) const REVISION: &[Edit] = &[
    replace(VERSION, "    V2026_07_28,\n", "    V2026_07_28,\n    /// 2027-01-01.\n    V2027_01_01,\n"),
    replace(VERSION, "Self::V2026_07_28]", "Self::V2026_07_28, Self::V2027_01_01]"),
    replace(
        VERSION,
        "Self::V2026_07_28 => \"2026-07-28\",",
        "Self::V2026_07_28 => \"2026-07-28\",\n            Self::V2027_01_01 => \"2027-01-01\",",
    ),
    replace(
        ROW,
        "FIFTH];",
        "FIFTH, SIXTH];\n\nconst SIXTH: RevisionRow = RevisionRow { version: ProtocolVersion::V2027_01_01, ..FIFTH };",
    ),
    replace(TEST, "[&str; 5]", "[&str; 6]"),
    replace(TEST, "\"2026_07_28\"]", "\"2026_07_28\", \"2027_01_01\"]"),
    replace(TABLE, "2025-11-25 2026-07-28\n", "2025-11-25 2026-07-28 2027-01-01\n"),
    replace(TABLE, "@5 ", "@5- "),
    replace(TABLE, "@5\n", "@5-\n"),
    replace(TABLE, ",5\n", ",5-\n"),
    Edit {
        place: SCHEMAS,
        file: "crates/types/tests/schemas/2027-01-01.json",
        change: Change::CopyOf("crates/types/tests/schemas/2026-07-28.json"),
    },
    replace(
        EXAMPLES,
        "    (\"2026-07-28\", 129, 2),\n",
        "    (\"2026-07-28\", 129, 2),\n    (\"2027-01-01\", 129, 2),\n",
    ),
    Edit {
        place: EXAMPLES,
        file: "crates/vocab/tests/data/examples/2027-01-01.jsonl",
        change: Change::CopyOf("crates/vocab/tests/data/examples/2026-07-28.jsonl"),
    },
];

const MARKER: &str = "crates/types/src/method.rs";
const METHODS: &str = "crates/core/src/wire/method.rs";
const DISPATCH: &str = "crates/server/src/dispatch.rs";
const ROUTE: &str = "crates/server/src/mount/route.rs";
const RESULT: &str = "crates/proxy/src/result.rs";
const CLIENT: &str = "crates/client/src/client.rs";

/// The request `dummy/do`.
pub(super) const METHOD: &[Edit] = &[
    replace(
        MARKER,
        "    Elicit = \"elicitation/create\", ElicitParams => ElicitResult;\n",
        "    Elicit = \"elicitation/create\", ElicitParams => ElicitResult;\n    /// does nothing.\n    \
         DoDummy = \"dummy/do\", PingParams => EmptyResult;\n",
    ),
    replace(
        METHODS,
        "    Elicit:                FROM_2025_06_18  Server Open        false Never                -        Never\n",
        "    Elicit:                FROM_2025_06_18  Server Open        false Never                -        Never\n    \
         DoDummy:               FROM_2026_07_28  Client Open        false Never                -        Safe\n",
    ),
    replace(DISPATCH, "M::GetTask | M::GetTaskPayload", "M::DoDummy | M::GetTask | M::GetTaskPayload"),
    replace(ROUTE, "M::GetTask | M::GetTaskPayload", "M::DoDummy | M::GetTask | M::GetTaskPayload"),
    replace(
        RESULT,
        "        M::Complete => again::<Complete>(to, text),\n",
        "        M::Complete => again::<Complete>(to, text),\n        \
         M::DoDummy => again::<couplet_types::DoDummy>(to, text),\n",
    ),
    replace(
        CLIENT,
        "    pub async fn ping(",
        "    pub fn dummy(&self) -> RequestBuilder<couplet_types::DoDummy> {\n        \
         self.request(PingParams::new())\n    }\n\n    /// Checks the connection.\n    pub async fn ping(",
    ),
    replace(
        CLIENT,
        "            M::Ping => drop(client.ping().await),\n",
        "            M::DoDummy => drop(client.dummy().await),\n            M::Ping => drop(client.ping().await),\n",
    ),
    replace(TABLE, "PingRequest @-4\n", "DoDummyRequest @5\n  method: \"dummy/do\"\nPingRequest @-4\n"),
];
