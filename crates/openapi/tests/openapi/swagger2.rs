//! Swagger 2 documents.

use couplet_openapi::{Document, OpenApi};
use serde_json::json;

use crate::kit::{Api, client, echoed};

const PETS: &str = "
swagger: 2.0
info: { title: Pets, version: 1.0.0 }
host: api.example.com
basePath: /v2
schemes: [http, https]
consumes: [application/json]
parameters:
  limit: { name: limit, in: query, type: integer, maximum: 100 }
securityDefinitions:
  login: { type: basic }
  key: { type: apiKey, in: header, name: X-Key }
  oauth: { type: oauth2, flow: application, tokenUrl: https://login.example.com/token, scopes: {} }
security: [{ login: [] }]
paths:
  /pets:
    parameters: [{ $ref: '#/parameters/limit' }]
    get:
      operationId: list
      parameters:
        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: pipes }
        - { name: ids, in: query, type: array, items: { type: integer } }
      responses: { 200: { description: ok, schema: { type: array, items: { $ref: '#/definitions/Pet' } } } }
    post:
      operationId: add
      parameters: [{ name: pet, in: body, required: true, schema: { $ref: '#/definitions/Pet' } }]
  /pets/{id}/photo:
    post:
      operationId: photo
      consumes: [multipart/form-data]
      parameters:
        - { name: id, in: path, required: true, type: string }
        - { name: file, in: formData, type: file, required: true }
        - { name: caption, in: formData, type: string }
definitions:
  Pet: { type: object, required: [name], properties: { name: { type: string }, id: { type: integer, readOnly: true } } }
";

#[tokio::test]
async fn swagger_2_is_converted() {
    let document = Document::parse(PETS.as_bytes()).expect("it is a document");
    let (operations, _) = OpenApi::new(document.clone()).operations();
    let request = operations[0].request(&serde_json::Map::new()).expect("it can be built");
    assert_eq!(request.url(), "https://api.example.com/v2/pets");
    assert_eq!(
        operations[0].output_schema.as_ref().map(|schema| schema["properties"]["result"]["type"].clone()),
        Some(json!(["array", "null"]))
    );

    let api = Api::echo().await;
    let built =
        OpenApi::new(document).base_url(&format!("{}/v2", api.url())).expect("it is a URL").auth("login", "ann:pw");
    let client =
        client(built.include("method:post".parse().expect("a filter")).include("name:list".parse().expect("a filter")))
            .await;
    let _ =
        client.call("list", json!({ "limit": 5, "tags": ["a", "b"], "ids": [1, 2] })).await.expect("it is answered");
    let seen = api.last();
    let mut query: Vec<&str> = seen.target.split_once('?').expect("it has a query").1.split('&').collect();
    query.sort_unstable();
    assert_eq!(query, ["ids=1,2", "limit=5", "tags=a%7Cb"]);
    assert_eq!(seen.header("authorization"), Some("Basic YW5uOnB3"));
    assert_eq!(echoed(&client, "add", json!({ "name": "Rex" })).await["body"], r#"{"name":"Rex"}"#);
    let seen = echoed(&client, "photo", json!({ "id": "7", "file": { "text": "x" }, "caption": "c" })).await;
    assert_eq!(seen["target"], "/v2/pets/7/photo");
    assert!(seen["body"].as_str().is_some_and(|body| body.contains("name=\"file\"; filename=\"file\"")), "{seen}");
}
