//! Documents a second of one map and one reduce, written in C# (native) and in JavaScript.
//!
//! `cargo run --release --package jackdaw-examples --example index_maps -- [DOCUMENTS]`
//!
//! Both give the same entries; the time is that of mapping alone, on one thread, from documents in
//! their stored form to entries in theirs.
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jackdaw_document::{DocumentBuf, Limits, Value};
use jackdaw_script::index::{
    EmptyDatabase, IndexMachine, IndexedDocument, MapProgram, ReduceProgram,
};
use jackdaw_script::{ScriptDocument, ScriptLimits};

const DOCUMENTS: usize = 20_000;
const GROUPS: usize = 100;

/// A name, then the same map in C# and in JavaScript.
const MAPS: &[(&str, &str, &str)] = &[
    (
        "two fields",
        "from o in docs.Orders select new { o.Company, o.ShipTo.City }",
        "map('Orders', o => ({ Company: o.Company, City: o.ShipTo.City }))",
    ),
    (
        "a sum",
        "from o in docs.Orders select new { o.Company, Count = 1, \
         Total = o.Lines.Sum(l => (l.Quantity * l.Price) * (1 - l.Discount)) }",
        "map('Orders', o => ({ Company: o.Company, Count: 1, \
         Total: o.Lines.reduce((t, l) => t + l.Quantity * l.Price * (1 - l.Discount), 0) }))",
    ),
    (
        "fan-out",
        "from o in docs.Orders from l in o.Lines select new { l.Product, l.Quantity }",
        "map('Orders', o => o.Lines.map(l => ({ Product: l.Product, Quantity: l.Quantity })))",
    ),
    (
        "texts",
        "from o in docs.Orders let name = o.ShipTo.City ?? \"\" \
         select new { Key = name.ToLower() + \"-\" + o.Company, Start = name.Substring(0, 1) }",
        "map('Orders', o => { const name = o.ShipTo.City ?? ''; \
         return { Key: name.toLowerCase() + '-' + o.Company, Start: name.substring(0, 1) }; })",
    ),
];

const REDUCES: [&str; 2] = [
    "from r in results group r by r.Company into g \
     select new { Company = g.Key, Count = g.Sum(x => x.Count), Total = g.Sum(x => x.Total) }",
    "groupBy(r => r.Company).aggregate(g => ({ Company: g.key, \
     Count: g.values.reduce((t, v) => t + v.Count, 0), \
     Total: g.values.reduce((t, v) => t + v.Total, 0) }))",
];

fn main() -> Result<()> {
    let count = match std::env::args().nth(1) {
        Some(argument) => argument.parse()?,
        None => DOCUMENTS,
    };
    let orders: Vec<DocumentBuf> = (0..count).map(order).collect::<Result<_>>()?;
    println!("{count} documents, documents a second:");
    println!(
        "{:<12}{:>12}{:>14}{:>8}",
        "map", "C#", "JavaScript", "ratio"
    );
    let mut machine = IndexMachine::new(ScriptLimits::default());
    for (name, native, script) in MAPS {
        let native = MapProgram::compile(native, &[])?;
        let script = MapProgram::compile(script, &[])?;
        let (native_time, native_entries) = map_all(&mut machine, &native, &orders)?;
        let (script_time, script_entries) = map_all(&mut machine, &script, &orders)?;
        ensure!(native_entries == script_entries, "the maps differ");
        print_row(name, count, native_time, script_time);
    }
    let entries: Vec<DocumentBuf> = (0..count).map(entry).collect::<Result<_>>()?;
    let mut times = Vec::new();
    for text in REDUCES {
        let reduce = ReduceProgram::compile(text, &[])?;
        let values: Vec<Value<'_>> = entries.iter().map(DocumentBuf::root).collect();
        let started = Instant::now();
        for group in values.chunks(GROUPS) {
            let results = machine.reduce(&reduce, group, &mut EmptyDatabase)?;
            ensure!(results.len() == 1, "a group has one result");
        }
        times.push(started.elapsed());
    }
    print_row("a reduce", count, times[0], times[1]);
    Ok(())
}

/// Maps all documents; gives the time and the number of entries.
fn map_all(
    machine: &mut IndexMachine,
    map: &MapProgram,
    orders: &[DocumentBuf],
) -> Result<(Duration, usize)> {
    let mut entries = 0;
    let started = Instant::now();
    for order in orders {
        let document = ScriptDocument {
            body: order.root(),
            metadata: None,
            collection: Some("Orders"),
            id: "orders/1",
            change_vector: None,
            last_modified: None,
        };
        let document = IndexedDocument::Document(document);
        machine.map(map, document, &mut EmptyDatabase, &mut |_| entries += 1)?;
    }
    Ok((started.elapsed(), entries))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "rates are shown, not counted with"
)]
fn print_row(name: &str, count: usize, native: Duration, script: Duration) {
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    let (native, script) = (rate(native), rate(script));
    println!(
        "{name:<12}{native:>12.0}{script:>14.0}{:>7.1}x",
        native / script
    );
}

fn order(number: usize) -> Result<DocumentBuf> {
    let line = |at: usize| {
        format!(
            r#"{{"Product":"products/{}-A","ProductName":"Some product","Quantity":{},
                "Price":{}.25,"Discount":0.1}}"#,
            (number + at) % 77,
            at + 1,
            number % 50
        )
    };
    let json = format!(
        r#"{{"Company":"companies/{}-A","Employee":"employees/{}-A",
            "OrderedAt":"2024-07-04T00:00:00.0000000","Freight":32.38,
            "ShipTo":{{"City":"City {}","Country":"France","Line1":"59 rue de l'Abbaye"}},
            "Lines":[{},{},{}]}}"#,
        number % 91,
        number % 9,
        number % 33,
        line(0),
        line(1),
        line(2)
    );
    Ok(DocumentBuf::from_json(json.as_bytes(), &Limits::default())?)
}

fn entry(number: usize) -> Result<DocumentBuf> {
    let json = format!(
        r#"{{"Company":"companies/1-A","Count":1,"Total":{}.5}}"#,
        number % 300
    );
    Ok(DocumentBuf::from_json(json.as_bytes(), &Limits::default())?)
}
