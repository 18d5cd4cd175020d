//! Who trades: companies, suppliers, shippers, employees and their regions.

use serde_json::{Value, json};

use super::words::{CITIES, FIRM_HEADS, FIRM_TAILS, FIRST_NAMES, LAST_NAMES, STREETS, TITLES};
use super::{EMPLOYEES, date, id, one_of, pick, signed};

/// Territories of one region.
const TERRITORIES: u64 = 12;

fn person(stream: &str, place: u64) -> (&'static str, &'static str) {
    let first = one_of(stream, place * 2, &FIRST_NAMES);
    (first, one_of(stream, place * 2 + 1, &LAST_NAMES))
}

fn phone(stream: &str, place: u64) -> String {
    let number = pick(stream, place, 10_000_000);
    format!(
        "(0{}) {:03}-{:04}",
        place % 90 + 10,
        number / 10_000,
        number % 10_000
    )
}

/// An address of one of the cities.
pub(super) fn address(stream: &str, place: u64) -> Value {
    let slot = usize::try_from(pick(stream, place, CITIES.len() as u64)).unwrap_or(0);
    let (city, country, latitude, longitude) = CITIES[slot];
    let house = pick(stream, place + 1, 180) + 1;
    let street = one_of(stream, place, &STREETS);
    json!({
        "Line1": format!("{house} {street}"),
        "Line2": null,
        "City": city,
        "Region": null,
        "PostalCode": format!("{:05}", 10_000 + pick(stream, place + 2, 80_000)),
        "Country": country,
        "Location": {
            "Latitude": latitude as f64 / 1_000.0,
            "Longitude": longitude as f64 / 1_000.0,
        },
    })
}

/// A firm's name that no other of the same kind has.
fn firm(number: u64) -> String {
    let number = usize::try_from(number).unwrap_or(0);
    let head = FIRM_HEADS[number % FIRM_HEADS.len()];
    let tail = FIRM_TAILS[number / FIRM_HEADS.len() % FIRM_TAILS.len()];
    format!("{head} {tail}")
}

fn contact(stream: &str, number: u64) -> Value {
    let (first, last) = person(stream, number);
    json!({ "Name": format!("{first} {last}"), "Title": one_of(stream, number, &TITLES) })
}

pub(super) fn company(number: u64) -> Value {
    let name = firm(number);
    let letters: String = name
        .chars()
        .filter(char::is_ascii_alphabetic)
        .take(3)
        .collect();
    json!({
        "ExternalId": format!("{}{number:02}", letters.to_uppercase()),
        "Name": name,
        "Contact": contact("company", number),
        "Address": address("company", number),
        "Phone": phone("company", number),
        "Fax": phone("company fax", number),
    })
}

pub(super) fn supplier(number: u64) -> Value {
    json!({
        "Name": format!("{} Cooperative", firm(number * 7 + 100)),
        "Contact": contact("supplier", number),
        "Address": address("supplier", number),
        "Phone": phone("supplier", number),
        "Fax": null,
        "HomePage": null,
    })
}

pub(super) fn shipper(number: u64) -> Value {
    let name = ["Swift Parcels", "Blue Barge Lines", "Overland Freight"];
    let name = name.get(usize::try_from(number - 1).unwrap_or(0)).copied();
    json!({ "Name": name, "Phone": phone("shipper", number) })
}

pub(super) fn employee(number: u64) -> Value {
    let (first, last) = person("employee", number);
    let territories = (0..3).map(|slot| {
        let region = pick("territory", number * 3 + slot, 4);
        territory_code(
            region + 1,
            pick("territory", number * 3 + slot + 100, TERRITORIES),
        )
    });
    json!({
        "LastName": last,
        "FirstName": first,
        "Title": if number == 2 { "Head of Sales" } else { "Sales Representative" },
        "Address": address("employee", number),
        "HiredAt": date(-signed(400 + pick("hired", number, 2_000))),
        "Birthday": date(-signed(9_000 + pick("birthday", number, 12_000))),
        "HomePhone": phone("employee", number),
        "Extension": format!("{:04}", 100 + pick("extension", number, 9_000)),
        "ReportsTo": (number != 2).then(|| id("employees", 2)),
        "Notes": [format!("{first} joined as number {number} of {EMPLOYEES}.")],
        "Territories": territories.collect::<Vec<_>>(),
    })
}

fn territory_code(region: u64, slot: u64) -> String {
    format!("{:05}", region * 10_000 + slot * 250)
}

pub(super) fn region(number: u64) -> Value {
    let name = ["Eastern", "Western", "Northern", "Southern"];
    let name = name.get(usize::try_from(number - 1).unwrap_or(0)).copied();
    let territories = (0..TERRITORIES).map(|slot| {
        let place = usize::try_from(number * TERRITORIES + slot).unwrap_or(0);
        json!({
            "Code": territory_code(number, slot),
            "Name": format!("{} {}", CITIES[place % CITIES.len()].0, slot + 1),
        })
    });
    json!({ "Name": name, "Territories": territories.collect::<Vec<_>>() })
}

/// A face as a picture.
pub(super) fn portrait(number: u64) -> String {
    let hue = number * 40 % 360;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 96 96\">\
         <rect width=\"96\" height=\"96\" fill=\"hsl({hue},40%,85%)\"/>\
         <circle cx=\"48\" cy=\"38\" r=\"18\" fill=\"hsl({hue},45%,45%)\"/>\
         <path d=\"M14 96a34 34 0 0 1 68 0z\" fill=\"hsl({hue},45%,35%)\"/></svg>"
    )
}
