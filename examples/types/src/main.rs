//! Arguments of the types of other crates: their text is checked before the function runs, and the schema has its format.

use couplet::prelude::*;
use serde_json::json;

/// Books a room.
#[tool]
fn book(room: uuid::Uuid, day: chrono::NaiveDate, until: jiff::Timestamp, page: url::Url) -> String {
    format!("{room} on {day}, to be confirmed before {until} at {}", page.host_str().unwrap_or("?"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let client = Client::new("demo", "1.0.0").connect(Server::new("hotel", "1.0.0").tool(book).build()).await?;
    let mut arguments = json!({
        "room": "67e55044-10b1-426f-9247-bb680e5fe0c8",
        "day": "2027-02-28",
        "until": "2027-02-01T12:00:00Z",
        "page": "https://hotel.example.com/confirm",
    });
    let booked = client.call("book", &arguments).await?.into_result()?.text();
    println!("{booked}");
    assert!(booked.contains("on 2027-02-28") && booked.ends_with("at hotel.example.com"));

    arguments["day"] = json!("2027-02-30");
    let wrong = client.call("book", &arguments).await?;
    assert!(wrong.is_error() && wrong.text().contains("day"), "{}", wrong.text());
    println!("{}", wrong.text());
    Ok(())
}
