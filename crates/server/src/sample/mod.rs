//! A trading company that never was, for trying things out: customers, products and orders with
//! everything that may stand beside documents.
//!
//! Called by `routes::sample_data`. Collections, fields and numbers of documents are those that
//! clients of the protocol know from their examples; names and figures are made here, the same on
//! every machine.

mod people;
mod trade;
mod words;

use jackdaw_base::hash::xxh3_64_parts;
use jackdaw_database::{
    AttachmentChange, AttachmentContent, Command, CounterAction, CounterOperation, SeriesAppend,
    SeriesChange,
};
use jackdaw_document::{DocumentBuf, JsonError, Limits};
use serde_json::{Value, json};

pub(crate) const ORDERS: u64 = 830;
pub(crate) const COMPANIES: u64 = 91;
pub(crate) const PRODUCTS: u64 = 77;
pub(crate) const SUPPLIERS: u64 = 29;
pub(crate) const EMPLOYEES: u64 = 9;
pub(crate) const CATEGORIES: u64 = 8;
pub(crate) const REGIONS: u64 = 4;
pub(crate) const SHIPPERS: u64 = 3;

/// Tags of ids and how many of each there are, for the documents that give out numbers.
const NUMBERED: [(&str, u64); 8] = [
    ("orders", ORDERS),
    ("companies", COMPANIES),
    ("products", PRODUCTS),
    ("suppliers", SUPPLIERS),
    ("employees", EMPLOYEES),
    ("categories", CATEGORIES),
    ("regions", REGIONS),
    ("shippers", SHIPPERS),
];
/// 2024-01-01 in milliseconds since 1970.
const YEAR_START: i64 = 1_704_067_200_000;
const DAY: i64 = 86_400_000;

/// Indexes over the data: name and definition.
pub(crate) fn indexes() -> Vec<Value> {
    const TOTAL: &str = "order.Lines.Sum(line => line.PricePerUnit * line.Quantity * \
                         (1 - line.Discount))";
    vec![
        json!({
            "Name": "Orders/ByCompany",
            "Maps": [format!(
                "from order in docs.Orders select new {{ order.Company, Count = 1, \
                 Total = {TOTAL} }}"
            )],
            "Reduce": "from result in results group result by result.Company into g select new { \
                       Company = g.Key, Count = g.Sum(x => x.Count), Total = g.Sum(x => x.Total) }",
        }),
        json!({
            "Name": "Orders/Totals",
            "Maps": [format!(
                "from order in docs.Orders select new {{ order.Employee, order.Company, \
                 Total = {TOTAL} }}"
            )],
        }),
        json!({
            "Name": "Orders/ByShipment/Location",
            "Maps": [
                "from order in docs.Orders select new { order.Employee, order.Company, \
                 Location = CreateSpatialField(order.ShipTo.Location.Latitude, \
                 order.ShipTo.Location.Longitude) }"
            ],
        }),
        json!({
            "Name": "Product/Search",
            "Maps": [
                "from product in docs.Products select new { product.Name, product.Category, \
                 product.Supplier, product.PricePerUnit }"
            ],
            "Fields": { "Name": { "Indexing": "Search", "Suggestions": true } },
        }),
        json!({
            "Name": "Product/Rating",
            "Maps": [
                "from counter in counters.Products select new { Product = counter.DocumentId, \
                 Votes = counter.Value }"
            ],
            "Reduce": "from result in results group result by result.Product into g select new { \
                       Product = g.Key, Votes = g.Sum(x => x.Votes) }",
        }),
    ]
}

/// The documents, in the order in which they refer to each other.
pub(crate) fn documents() -> Result<Vec<Command>, JsonError> {
    let mut all = Vec::new();
    for (tag, count) in NUMBERED {
        let id = format!("Raven/Hilo/{tag}");
        all.push(put(
            &id,
            "@hilo",
            &json!({ "Max": count.next_multiple_of(32) }),
        )?);
    }
    let mut add = |tag: &str, collection: &str, count: u64, make: &dyn Fn(u64) -> Value| {
        for number in 1..=count {
            all.push(put(&id(tag, number), collection, &make(number))?);
        }
        Ok::<(), JsonError>(())
    };
    add("regions", "Regions", REGIONS, &people::region)?;
    add("categories", "Categories", CATEGORIES, &trade::category)?;
    add("suppliers", "Suppliers", SUPPLIERS, &people::supplier)?;
    add("shippers", "Shippers", SHIPPERS, &people::shipper)?;
    add("employees", "Employees", EMPLOYEES, &people::employee)?;
    add("companies", "Companies", COMPANIES, &people::company)?;
    add("products", "Products", PRODUCTS, &trade::product)?;
    add("orders", "Orders", ORDERS, &trade::order)?;
    Ok(all)
}

/// Pictures of employees and categories, each another.
pub(crate) fn attachments() -> Vec<Command> {
    let attach = |id: String, name: &str, picture: String| Command::Attachment {
        id,
        name: name.to_owned(),
        expected: None,
        change: AttachmentChange::Put {
            content_type: "image/svg+xml".to_owned(),
            content: AttachmentContent::from_bytes(picture.into_bytes()),
        },
    };
    let photos = (1..=EMPLOYEES).map(|number| {
        let picture = people::portrait(number);
        attach(id("employees", number), "photo.svg", picture)
    });
    let pictures = (1..=CATEGORIES).map(|number| {
        let picture = trade::picture(number);
        attach(id("categories", number), "image.svg", picture)
    });
    photos.chain(pictures).collect()
}

/// Votes for products.
pub(crate) fn counters() -> Vec<Command> {
    let stars = ["1-star", "2-stars", "3-stars", "4-stars", "5-stars"];
    let of_product = |number: u64| {
        let operations = stars.iter().zip(0..).map(|(name, star)| CounterOperation {
            name: (*name).to_owned(),
            action: CounterAction::Put(signed(pick("stars", number * 8 + star, 40) + 1)),
        });
        Command::Counters {
            id: id("products", number),
            operations: operations.collect(),
        }
    };
    (1..=PRODUCTS).map(of_product).collect()
}

/// Heart rates of employees through a year, and prices of companies.
pub(crate) fn series() -> Vec<Command> {
    let rates = (1..=EMPLOYEES).map(|number| {
        let at = |entry: u64| YEAR_START + signed(entry) * DAY / 4;
        let value = |entry: u64| (58 + pick("rate", number << 16 | entry, 50)) as f64;
        let entry = |entry: u64| SeriesAppend {
            at: at(entry),
            values: vec![value(entry)],
            tag: Some("watches/fitness".to_owned()),
        };
        appended(id("employees", number), "HeartRates", (0..1_464).map(entry))
    });
    let prices = (1..=COMPANIES).map(|number| {
        let mut open = 40.0 + pick("price", number, 400) as f64 / 4.0;
        let mut entries = Vec::new();
        for day in 0..250 {
            let draw = number << 16 | day;
            let step = (pick("step", draw, 81) as f64 - 40.0) / 16.0;
            let close = (open + step).max(1.0);
            let spread = pick("spread", draw, 16) as f64 / 8.0;
            let volume = (10_000 + pick("volume", draw, 90_000)) as f64;
            let (high, low) = (
                open.max(close) + spread,
                (open.min(close) - spread).max(0.5),
            );
            entries.push(SeriesAppend {
                at: YEAR_START + signed(day) * DAY + DAY / 2,
                values: vec![open, close, high, low, volume],
                tag: None,
            });
            open = close;
        }
        appended(id("companies", number), "StockPrices", entries.into_iter())
    });
    rates.chain(prices).collect()
}

fn appended(id: String, name: &str, entries: impl Iterator<Item = SeriesAppend>) -> Command {
    Command::Series {
        id,
        name: name.to_owned(),
        change: SeriesChange {
            appends: entries.collect(),
            ..SeriesChange::default()
        },
    }
}

fn put(id: &str, collection: &str, body: &Value) -> Result<Command, JsonError> {
    let document =
        |value: &Value| DocumentBuf::from_json(value.to_string().as_bytes(), &Limits::default());
    Ok(Command::Put {
        id: Some(id.to_owned()),
        body: document(body)?,
        metadata: Some(document(&json!({ "@collection": collection }))?),
        // Nothing that somebody stored meanwhile is overwritten.
        expected: Some(String::new()),
        keeps_revision: false,
    })
}

/// `orders/7-A`
fn id(tag: &str, number: u64) -> String {
    format!("{tag}/{number}-A")
}

/// A number below `limit`, always the same for the same stream and place.
fn pick(stream: &str, place: u64, limit: u64) -> u64 {
    xxh3_64_parts(&[stream.as_bytes(), &place.to_le_bytes()], 0) % limit.max(1)
}

/// One of a list.
fn one_of<'l>(stream: &str, place: u64, list: &[&'l str]) -> &'l str {
    let slot = usize::try_from(pick(stream, place, list.len() as u64)).unwrap_or(0);
    list.get(slot).copied().unwrap_or("")
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A day of the years from 2022, as text.
fn date(day: i64) -> String {
    let at = YEAR_START + day * DAY;
    jackdaw_base::time::UnixTicks(at.saturating_mul(10_000))
        .to_string()
        .trim_end_matches('Z')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn documents_are_as_many_as_clients_expect_and_point_at_each_other() {
        let documents = documents().unwrap();
        assert_eq!(documents.len(), 1_059);
        let ids: BTreeSet<&str> = documents.iter().filter_map(own_id).collect();
        assert_eq!(ids.len(), documents.len());
        for document in &documents {
            let Command::Put { body, .. } = document else {
                panic!("{document:?}");
            };
            for name in [
                "Company",
                "Employee",
                "ShipVia",
                "Supplier",
                "Category",
                "ReportsTo",
            ] {
                if let Some(to) = body.root().get(name).and_then(|to| to.as_str()) {
                    assert!(ids.contains(to), "{name}: {to}");
                }
            }
        }
    }

    #[test]
    fn what_stands_beside_documents_stands_beside_some() {
        let documents = documents().unwrap();
        let ids: BTreeSet<&str> = documents.iter().filter_map(own_id).collect();
        let attachments = attachments();
        assert_eq!(attachments.len(), 17);
        for command in attachments.iter().chain(&counters()).chain(&series()) {
            let (Command::Attachment { id, .. }
            | Command::Counters { id, .. }
            | Command::Series { id, .. }) = command
            else {
                panic!("{command:?}");
            };
            assert!(ids.contains(id.as_str()), "{id}");
        }
    }

    fn own_id(command: &Command) -> Option<&str> {
        match command {
            Command::Put { id, .. } => id.as_deref(),
            _ => None,
        }
    }
}
