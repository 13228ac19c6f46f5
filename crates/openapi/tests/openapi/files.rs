//! References to files beside a document.

use std::{fs, path::PathBuf};

use couplet_client::Client;
use couplet_openapi::{Document, OpenApi};
use serde_json::{Value, json};

/// A folder with files, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("couplet-openapi-{name}-{}", std::process::id()));
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("it is in the folder")).expect("the folder is made");
            fs::write(path, text).expect("the file is written");
        }
        Self(folder)
    }

    fn parse(&self, name: &str) -> Result<Document, String> {
        let path = self.0.join(name);
        Document::parse_file(&fs::read(&path).expect("it is there"), &path).map_err(|error| error.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The tools of a document, as JSON.
async fn tools(document: Document) -> Value {
    let api = OpenApi::new(document).base_url("https://api.example.com").expect("it is a URL");
    let server = api.into_server().expect("it has operations").build();
    let client = Client::new("test", "1.0.0").connect(server).await.expect("it connects");
    json!(client.tools().await.expect("they are listed"))
}

const API: &str = "
openapi: 3.0.0
paths:
  /pets: { $ref: 'paths/pets.yaml' }
  /fine: { get: { operationId: fine } }
components:
  parameters:
    Limit: { name: limit, in: query, schema: { type: integer, maximum: 77 } }
";

const PETS: &str = "
post:
  operationId: addPet
  parameters: [{ $ref: '../openapi.yaml#/components/parameters/Limit' }]
  requestBody:
    required: true
    content: { application/json: { schema: { $ref: '../schemas/my%20pet.json#/Pet' } } }
";

const PET: &str = r##"{
    "Pet": { "type": "object", "properties": { "tag": { "$ref": "#/Tag" }, "mother": { "$ref": "#/Pet" } } },
    "Tag": { "type": "string", "maxLength": 33 }
}"##;

#[tokio::test]
async fn files_beside_a_document_are_a_part_of_it() {
    let folder = Folder::new(
        "beside",
        &[("openapi.yaml", API), ("paths/pets.yaml", PETS), ("schemas/my pet.json", PET), ("other.yaml", "x: 1")],
    );
    let tools = tools(folder.parse("openapi.yaml").expect("it is parsed")).await;
    let text = tools.to_string();
    for part in ["addPet", "\"maximum\":77", "\"maxLength\":33", "mother"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The text alone refers to files that are not known.
    let alone = Document::parse(API.as_bytes()).expect("it is parsed");
    assert!(!self::tools(alone).await.to_string().contains("addPet"));
}

/// Whether a reference from `api/openapi.yaml` is followed.
#[track_caller]
fn check(folder: &Folder, reference: &str) -> bool {
    let text = format!("openapi: 3.0.0\npaths:\n  /a: {{ $ref: '{reference}' }}\n  /b: {{ get: {{}} }}");
    let path = folder.0.join("api/openapi.yaml");
    fs::write(&path, &text).expect("it is written");
    let document = folder.parse("api/openapi.yaml").expect("it is parsed");
    let api = OpenApi::new(document).base_url("https://api.example.com").expect("it is a URL");
    let (found, _) = api.operations();
    found.len() == 2
}

#[test]
fn only_files_below_the_folder_are_read() {
    let item = "get: { operationId: found }";
    let files = [("api/openapi.yaml", ""), ("api/in/a.yaml", item), ("out.yaml", item), ("api-2/a.yaml", item)];
    let folder = Folder::new("below", &files);
    let absolute = folder.0.join("api/in/a.yaml").display().to_string();
    for (reference, is_followed) in [
        ("in/a.yaml", true),
        ("./in/../in/a.yaml#", true),
        ("../out.yaml", false),
        ("%2e%2e/out.yaml", false),
        ("in/../../out.yaml", false),
        ("../api-2/a.yaml", false),
        ("in/none.yaml", false),
        ("in", false),
        (&*absolute, false),
        ("file:in/a.yaml", false),
        ("https://example.com/in/a.yaml", false),
    ] {
        assert_eq!(check(&folder, reference), is_followed, "{reference}");
    }
    #[cfg(unix)]
    {
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(folder.0.join(to), folder.0.join(name)).expect("a link is made");
        };
        link("out.yaml", "api/out.yaml");
        link("api/in/a.yaml", "api/inside.yaml");
        assert!(!check(&folder, "out.yaml") && check(&folder, "inside.yaml"));
    }
}

#[test]
fn files_are_bounded_and_mistakes_are_named() {
    let many: String = (0..300).map(|at| format!("  /{at}: {{ $ref: 'f{at}.yaml' }}\n")).collect();
    let many = format!("openapi: 3.0.0\npaths:\n{many}");
    let names: Vec<String> = (0..300).map(|at| format!("f{at}.yaml")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "get: {}")).collect();
    files.push(("many.yaml", &many));
    files.push(("wrong.yaml", "openapi: 3.0.0\npaths: { /a: { $ref: 'broken.json' } }"));
    files.push(("broken.json", "{ \"get\": "));
    // Each file is small, and its aliases are not.
    let aliases = format!("a: &a {}\nb: [{}]", "x".repeat(100_000), vec!["*a"; 250].join(", "));
    for name in ["g0.yaml", "g1.yaml", "g2.yaml"] {
        files.push((name, &aliases));
    }
    files.push((
        "large.yaml",
        "openapi: 3.0.0\npaths: { /0: { $ref: 'g0.yaml' }, /1: { $ref: 'g1.yaml' }, /2: { $ref: 'g2.yaml' } }",
    ));
    // Files that refer to each other are read once.
    files.push(("circle.yaml", "openapi: 3.0.0\npaths: { /a: { $ref: 'one.yaml' } }"));
    files.push(("one.yaml", "$ref: two.yaml"));
    files.push(("two.yaml", "$ref: one.yaml"));
    let folder = Folder::new("bounds", &files);
    let error = |name: &str| folder.parse(name).expect_err("it is too much");
    assert_eq!(error("many.yaml"), "the document refers to more than 256 files");
    assert_eq!(error("large.yaml"), "the document and its files have more than 64 MiB");
    assert!(error("wrong.yaml").starts_with("the file `broken.json`: invalid JSON: "), "{}", error("wrong.yaml"));
    assert!(folder.parse("circle.yaml").is_ok());
}
