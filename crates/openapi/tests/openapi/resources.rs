//! `GET` operations as resources.

use couplet_openapi::OpenApi;
use serde_json::json;

use crate::kit::{Answer, Api, client, document};

#[tokio::test]
async fn gets_become_resources_where_their_parameters_fit() {
    let api =
        Api::start(|seen| (seen.target == "/pets/404").then(|| Answer::json(404, &json!({ "error": "gone" })))).await;
    let text = |name: &str, place: &str| json!({ "name": name, "in": place, "required": place != "query", "schema": { "type": "string" } });
    let built = OpenApi::new(document(json!({
        "openapi": "3.0.3",
        "info": { "title": "The Pets!", "version": "1.0" },
        "paths": {
            "/pets": {
                "get": { "operationId": "listPets", "parameters": [text("tag-name", "query")] },
                "post": { "operationId": "addPet" },
            },
            "/pets/{pet-id}": { "get": { "operationId": "getPet", "parameters": [text("pet-id", "path")] } },
            "/pets/{pet_id}": { "get": { "operationId": "getSame" } },
            "/health": { "get": { "operationId": "health" } },
            "/secret": { "get": { "operationId": "withHeader", "parameters": [text("X-Tenant", "header")] } },
        },
    })));
    let client = client(built.base_url(&api.url()).expect("it is a URL").gets_as_resources()).await;
    let tools: Vec<String> = client.tools().await.expect("they are listed").into_iter().map(|tool| tool.name).collect();
    assert_eq!(tools, ["addPet", "getSame", "withHeader"]);
    let resources: Vec<String> =
        client.resources().await.expect("they are listed").into_iter().map(|r| r.uri).collect();
    assert_eq!(resources, ["api://the-pets/health"]);
    let mut templates: Vec<String> =
        client.resource_templates().await.expect("they are listed").into_iter().map(|t| t.uri_template).collect();
    templates.sort();
    assert_eq!(templates, ["api://the-pets/pets/{pet_id}", "api://the-pets/pets{?tag_name}"]);
    for (uri, expected) in [
        ("api://the-pets/health", "/health"),
        ("api://the-pets/pets/a%2Fb%3Fc", "/pets/a%2Fb%3Fc"),
        ("api://the-pets/pets?tag_name=x%26y", "/pets?tag-name=x%26y"),
        ("api://the-pets/pets", "/pets"),
    ] {
        client.read(uri).await.unwrap_or_else(|e| panic!("{uri}: {e}"));
        assert_eq!(api.last().target, expected, "{uri}");
    }
    for uri in ["api://the-pets/pets/404", "api://the-pets/pets/..", "api://the-pets/nothing"] {
        assert!(client.read(uri).await.is_err(), "{uri}");
    }
}
