//! What is traded: categories, products and orders.

use serde_json::{Value, json};

use super::people::address;
use super::words::{CATEGORY_NAMES, GOODS, GOODS_HEADS, PACKS};
use super::{
    CATEGORIES, COMPANIES, EMPLOYEES, PRODUCTS, SHIPPERS, SUPPLIERS, date, id, one_of, pick, signed,
};

pub(super) fn category(number: u64) -> Value {
    let (name, description) = CATEGORY_NAMES[slot(number - 1, CATEGORY_NAMES.len())];
    json!({ "Name": name, "Description": description })
}

/// The category of a product, from 1 on.
fn category_of(product: u64) -> u64 {
    (product - 1) % CATEGORIES + 1
}

/// Each product of a category has another name.
fn product_name(number: u64) -> String {
    let kinds = GOODS[slot(category_of(number) - 1, GOODS.len())];
    let turn = (number - 1) / CATEGORIES;
    let head = GOODS_HEADS[slot(turn, GOODS_HEADS.len())];
    format!("{head} {}", kinds[slot(turn, kinds.len())])
}

fn price(number: u64) -> f64 {
    2.5 + pick("price of goods", number, 380) as f64 / 4.0
}

pub(super) fn product(number: u64) -> Value {
    json!({
        "Name": product_name(number),
        "Supplier": id("suppliers", pick("supplier", number, SUPPLIERS) + 1),
        "Category": id("categories", category_of(number)),
        "QuantityPerUnit": one_of("pack", number, &PACKS),
        "PricePerUnit": price(number),
        "UnitsInStock": pick("stock", number, 125),
        "UnitsOnOrder": pick("on order", number, 4) * 10,
        "Discontinued": number.is_multiple_of(11),
        "ReorderLevel": pick("level", number, 6) * 5,
    })
}

pub(super) fn order(number: u64) -> Value {
    let day = signed(number) * 730 / 830 - 730;
    let company = pick("buyer", number, COMPANIES) + 1;
    let lines = (0..1 + pick("lines", number, 5)).map(|line| {
        // Steps without a common divisor with 77 never meet the same product twice.
        let product = (pick("goods", number, PRODUCTS) + line * 5) % PRODUCTS + 1;
        json!({
            "Product": id("products", product),
            "ProductName": product_name(product),
            "PricePerUnit": price(product),
            "Quantity": pick("quantity", number * 8 + line, 40) + 1,
            "Discount": pick("discount", number * 8 + line, 4) as f64 * 0.05,
        })
    });
    // The newest are not shipped yet.
    let shipped = (number <= 809).then(|| date(day + 2 + signed(pick("days", number, 9))));
    json!({
        "Company": id("companies", company),
        "Employee": id("employees", pick("seller", number, EMPLOYEES) + 1),
        "OrderedAt": date(day),
        "RequireAt": date(day + 28),
        "ShippedAt": shipped,
        "ShipTo": address("company", company),
        "ShipVia": id("shippers", pick("ship", number, SHIPPERS) + 1),
        "Freight": pick("freight", number, 9_000) as f64 / 50.0,
        "Lines": lines.collect::<Vec<_>>(),
    })
}

fn slot(number: u64, len: usize) -> usize {
    usize::try_from(number).unwrap_or(0) % len
}

/// A category as a picture.
pub(super) fn picture(number: u64) -> String {
    let hue = number * 45 % 360;
    let (name, _) = CATEGORY_NAMES[slot(number - 1, CATEGORY_NAMES.len())];
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 160 96\">\
         <rect width=\"160\" height=\"96\" rx=\"8\" fill=\"hsl({hue},50%,40%)\"/>\
         <text x=\"80\" y=\"56\" font-size=\"24\" text-anchor=\"middle\" fill=\"white\">{name}\
         </text></svg>"
    )
}
