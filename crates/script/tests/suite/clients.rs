//! Every shape of map and reduce that the tests of the official clients define, over documents of
//! our own: what each declares, and which entries it gives.

use jackdaw_script::index::{MapSource, ReduceProgram};

use crate::index_world::{compile, mapped_by, reduced};

/// A map: its text, a document, and the entries.
type Case<'c> = (&'c str, &'c str, &'c [&'c str]);

const CASES: &[Case<'_>] = &[
    // One field, spaced and closed in the ways that are found.
    (
        "from doc in docs.Dogs select new {doc.brand}",
        r#"{"brand":"x"}"#,
        &[r#"{"brand":"x"}"#],
    ),
    (
        " from task in docs.Tasks select new { task.owner_id }",
        r#"{"owner_id":"users/1"}"#,
        &[r#"{"owner_id":"users/1"}"#],
    ),
    (
        "from c in docs.Firms select new { unknown = c.unknown };",
        r#"{"name":"x"}"#,
        &["{}"],
    ),
    (
        "from doc in docs.Tests select new{Name = doc.Name,Number = doc.Number} ",
        r#"{"Name":"a","Number":3}"#,
        &[r#"{"Name":"a","Number":3}"#],
    ),
    (
        "from u in docs.People select new  {    fName = u.name,     lName = u.lName}",
        r#"{"name":"a"}"#,
        &[r#"{"fName":"a"}"#],
    ),
    (
        "from camera in docs select new { camera.maker, camera.cost, camera.listed } ",
        r#"{"maker":"m","cost":1.25,"listed":"2012-01-01T00:00:00.0000000"}"#,
        &[r#"{"maker":"m","cost":1.25,"listed":"2012-01-01T00:00:00.0000000"}"#],
    ),
    (
        "from c in docs.contacts select new { firm = c.firm, tags = c.tags, active = c.active  }",
        r#"{"firm":1,"tags":["a","b"],"active":true}"#,
        &[r#"{"firm":1,"tags":["a","b"],"active":true}"#],
    ),
    (
        "from dog in docs.dogs select new { dog.name, dog.age, dog.is_old }",
        r#"{"name":"R","age":3,"is_old":false}"#,
        &[r#"{"name":"R","age":3,"is_old":false}"#],
    ),
    (
        "from doc in docs select new {name = doc.name,doc_id = doc.key_doc.name}",
        r#"{"name":"a","key_doc":{"name":"b"}}"#,
        &[r#"{"name":"a","doc_id":"b"}"#],
    ),
    (
        "from d in docs.Things select new { d.inner_, d.inner_.body }",
        r#"{"inner_":{"body":"b"}}"#,
        &[r#"{"inner_":{"body":"b"},"body":"b"}"#],
    ),
    // Constants, texts put together, arrays.
    (
        "from c in docs.Users select new { c.name, count = 1 }",
        r#"{"name":"a"}"#,
        &[r#"{"name":"a","count":1}"#],
    ),
    (
        "from order in docs.Orders select new {key = order.key,both = \
            order.name+\"_\"+order.product}",
        r#"{"key":"k","name":"n","product":"p"}"#,
        &[r#"{"key":"k","both":"n_p"}"#],
    ),
    (
        "from song in docs.Songs select new {query = new object[] \
            {song.artist,((object)song.time),song.tags,song.title}}",
        r#"{"artist":"a","time":"2011-08-03","tags":["x"],"title":"t"}"#,
        &[r#"{"query":["a","2011-08-03",["x"],"t"]}"#],
    ),
    (
        "from doc in docs select new{Tag = doc[\"@metadata\"][\"@collection\"]}",
        "{}",
        &[r#"{"Tag":"Albums"}"#],
    ),
    (
        "from c in docs.Firms select new { Name = typeof(System.Xml.XmlNode).Name }",
        "{}",
        &[r#"{"Name":"XmlNode"}"#],
    ),
    (
        "from u in docs.people select new { a = 5 / u.Age }",
        r#"{"Age":2}"#,
        &[r#"{"a":2}"#],
    ),
    (
        "from u in docs.Users select new { u.name, last = u.last.Boost(10) }",
        r#"{"name":"a","last":"b"}"#,
        &[r#"{"name":"a","last":{"$value":"b","$boost":10}}"#],
    ),
    // Dates.
    (
        "from o in docs.Orders select new {delay = o.shipped - ((DateTime?)o.ordered)}",
        r#"{"ordered":"2020-01-01T00:00:00.0000000","shipped":"2020-01-01T00:10:00.0000000"}"#,
        &[r#"{"delay":"00:10:00"}"#],
    ),
    // Method syntax.
    (
        "docs.Orders.Select(order => new { order.currency, \n                          \
            order.total,\n                          order.at })",
        r#"{"currency":"EUR","total":1.1,"at":"2012-01-01"}"#,
        &[r#"{"currency":"EUR","total":1.1,"at":"2012-01-01"}"#],
    ),
    (
        "docs.Items.Select(doc => new{\n    name = doc.name, \n    at = \
            this.CreateSpatialField(doc.lat, doc.lng)\n})",
        r#"{"name":"a","lat":35.1,"lng":-107.1}"#,
        &[r#"{"name":"a","at":{"$spatial":{"Latitude":35.1,"Longitude":-107.1}}}"#],
    ),
    (
        "docs.Places.Select(doc => new {\n    shape = this.CreateSpatialField(doc.shape)\n})",
        r#"{"shape":"2 2 4 4"}"#,
        &[r#"{"shape":{"$spatial":"2 2 4 4"}}"#],
    ),
    (
        "docs.Events.Select(e => new {\n    venue = e.venue,\n    at = \
            this.CreateSpatialField(((double ? ) e.latitude), ((double ? ) e.longitude))\n})",
        r#"{"venue":"v","latitude":38.9579,"longitude":-77.3572}"#,
        &[r#"{"venue":"v","at":{"$spatial":{"Latitude":38.9579,"Longitude":-77.3572}}}"#],
    ),
    (
        "from e in docs.Shops select new { e.venue, at = CreateSpatialField(e.latitude, \
            e.longitude) }",
        r#"{"venue":"v"}"#,
        &[r#"{"venue":"v"}"#],
    ),
    (
        "docs.Orders.SelectMany(order => order.Lines, (order, line) => new {\n    Product = \
            line.Product,\n    At = order.At,\n    Profit = (((decimal) line.Quantity) * \
            line.Price) * (1M - line.Discount)\n})",
        "{\"At\":\"2017-01-01\",\"Lines\":[{\"Product\":\"p/1\",\"Quantity\":3,\"Price\":6.10,\"D\
            iscount\":0.1},{\"Product\":\"p/2\",\"Quantity\":1,\"Price\":2}]}",
        &[
            r#"{"Product":"p/1","At":"2017-01-01","Profit":16.47}"#,
            r#"{"Product":"p/2","At":"2017-01-01","Profit":null}"#,
        ],
    ),
    (
        "from order in docs.Orders\r\nselect new\r\n{\r\n    order.Company,\r\n    Count = \
            1,\r\n    Total = order.Lines.Sum(l => (l.Quantity * l.Price) * (1 - \
            l.Discount))\r\n}",
        "{\"Company\":\"c/1\",\"Lines\":[{\"Quantity\":12,\"Price\":14.0,\"Discount\":0.0},{\"Qua\
            ntity\":10,\"Price\":9.8,\"Discount\":0.15}]}",
        &[r#"{"Company":"c/1","Count":1,"Total":251.3}"#],
    ),
    (
        "from order in docs.Orders\r\nwhere order.ShipTo.Location != null\r\nselect new\r\n{\r\n\
            order.Employee,\r\n    At = CreateSpatialField(order.ShipTo.Location.Latitude, \
            order.ShipTo.Location.Longitude)\r\n}",
        r#"{"Employee":"e/1","ShipTo":{"Location":{"Latitude":1,"Longitude":2}}}"#,
        &[r#"{"Employee":"e/1","At":{"$spatial":{"Latitude":1,"Longitude":2}}}"#],
    ),
    (
        "from order in docs.Orders where order.ShipTo.Location != null select new { \
            order.Employee }",
        r#"{"Employee":"e/1","ShipTo":{}}"#,
        &[],
    ),
    (
        "from p in docs.Products\r\nselect new {\r\n    Stock = \
            LoadCompareExchangeValue(Id(p))\r\n}",
        "{}",
        &[r#"{"Stock":null}"#],
    ),
    (
        "from c in docs.Cars from l in c.L select new { l.P, l.Q }",
        r#"{"L":[{"P":1,"Q":2},{"P":3}]}"#,
        &[r#"{"P":1,"Q":2}"#, r#"{"P":3}"#],
    ),
    (
        "from c in docs.Cars select new { X = 1 / (c.F - c.F) }",
        r#"{"F":1.5}"#,
        &[r#"{"X":null}"#],
    ),
    // JavaScript.
    (
        "map('Firms', function (f) {return ({names: timeSeriesNamesFor(f)})})",
        "{}",
        &[r#"{"names":["Heart"]}"#],
    ),
    (
        "map('Firms', function (f) {\nreturn ({\n    names: counterNamesFor(f)\n})\n})",
        "{}",
        &[r#"{"names":["likes"]}"#],
    ),
    (
        "map('Users', user => {\n            const address = cmpxchg(user.addressId);\n            \
            return {\n                v: address.v,\n                name: user.name\n            \
            };\n        })",
        r#"{"addressId":"k","name":"a"}"#,
        &[r#"{"v":7,"name":"a"}"#],
    ),
    (
        "map('Things', p => {\n            return {\n                city: load(p.place, \
            \"addresses\").city,\n                count: 1\n            };\n        })",
        r#"{"place":"addresses/1"}"#,
        &[r#"{"city":"Lund","count":1}"#],
    ),
    (
        "map('Users', u => ({ name: u.name, count: 1 }))",
        r#"{"name":"a"}"#,
        &[r#"{"name":"a","count":1}"#],
    ),
    (
        "map('Blogs', b => {\n            return {\n                tags: b.tags\n            \
            };\n        })",
        r#"{"tags":["a"]}"#,
        &[r#"{"tags":["a"]}"#],
    ),
    (
        "map('Dogs', d => {\n            return {\n                name: d.name,\n                \
            catsOnly: null\n            };\n        })",
        r#"{"name":"a"}"#,
        &[r#"{"name":"a","catsOnly":null}"#],
    ),
    (
        "map('Geo', doc => {\n            return {\n                shape: \
            createSpatialField(doc.shape)\n            };\n        })",
        r#"{"shape":"POINT (1 2)"}"#,
        &[r#"{"shape":{"$spatial":"POINT (1 2)"}}"#],
    ),
];

#[test]
fn maps_of_clients_give_their_entries() {
    for (text, document, entries) in CASES {
        assert_eq!(mapped_by(&compile(text), document), *entries, "{text}");
    }
}

#[test]
fn one_entry_a_document_is_promised_unless_the_map_fans_out() {
    for (text, _, _) in CASES {
        let fans_out = text.contains("SelectMany") || text.matches("from ").count() > 1;
        assert_eq!(compile(text).has_fan_out(), fans_out, "{text}");
    }
}

#[test]
fn reduces_of_clients_give_their_results() {
    for (text, group_by, entries, results) in [
        (
            "from result in results group result by result.key into g select new {   key = \
                g.Key,   count = g.Sum(x => x.count) }",
            "key",
            &[r#"{"key":"a","count":1}"#, r#"{"key":"a","count":2}"#][..],
            r#"{"key":"a","count":3}"#,
        ),
        (
            "results.GroupBy(r => new {\n    At = r.At,\n    Product = r.Product\n}).Select(g => \
                new {\n    Product = g.Key.Product,\n    At = g.Key.At,\n    Profit = \
                Enumerable.Sum(g, r => ((decimal) r.Profit))\n})",
            "At,Product",
            &[
                r#"{"At":"d","Product":"p","Profit":1.10}"#,
                r#"{"At":"d","Product":"p","Profit":2.2}"#,
            ],
            r#"{"Product":"p","At":"d","Profit":3.3}"#,
        ),
        (
            "from result in results\r\ngroup result by result.Company \r\ninto g\r\nselect \
                new\r\n{\r\n\tCompany = g.Key,\r\n\tCount = g.Sum(x => x.Count),\r\n\tTotal = \
                g.Sum(x => x.Total)\r\n}",
            "Company",
            &[
                r#"{"Company":"c","Count":1,"Total":0.1}"#,
                r#"{"Company":"c","Count":1,"Total":0.7}"#,
            ],
            r#"{"Company":"c","Count":2,"Total":0.8}"#,
        ),
        (
            "groupBy(r => ({ city: r.city }))\n .aggregate(g => ({\n     beat: \
                g.values.reduce((total, val) => val.beat + total, 0) / g.values.reduce((total, \
                val) => val.count + total, 0),\n     city: g.key.city,\n     count: \
                g.values.reduce((total, val) => val.count + total, 0)\n }))",
            "city",
            &[
                r#"{"beat":2,"city":"c","count":1}"#,
                r#"{"beat":4,"city":"c","count":1}"#,
            ],
            r#"{"beat":3,"city":"c","count":2}"#,
        ),
        (
            "groupBy(f => f.foo).aggregate(g => ({  foo: g.key, sum: g.values.reduce((total, \
                val) => val.sum + total,0) }))",
            "foo",
            &[r#"{"foo":"x","sum":4}"#, r#"{"foo":"x"}"#],
            r#"{"foo":"x","sum":4}"#,
        ),
    ] {
        let reduce = ReduceProgram::compile(text, &[]).unwrap();
        assert_eq!(reduce.group_by().join(","), group_by, "{text}");
        assert_eq!(reduced(&reduce, entries), [results], "{text}");
    }
    // A comma is missing in one of them; the reference refuses it too.
    let text = "groupBy(r => ({ city: r.city }))\n .aggregate(g => ({\n     city: g.key.city\n     \
        count: 1\n }))";
    let error = ReduceProgram::compile(text, &[]).unwrap_err();
    assert_eq!(error.position.0, 4, "{error}");
}

#[test]
fn counters_and_series_of_clients_are_told() {
    for (text, collection, name) in [
        (
            "counters.map('Firms', 'Beat', function (c) {\n return {\n v: c.Value\n};\n})",
            "Firms",
            "Beat",
        ),
        (
            "counters.map('Firms', function (c) {\nreturn {\nv: c.Value\n};\n})",
            "Firms",
            "",
        ),
        (
            "counters.map('Users', 'beat', function (c) {\nvar u = load(c.DocumentId, \
                'Users');\nvar a = load(u.address_id, 'Addresses');\nreturn {\n    v: c.Value,\n\
                city: a.city\n};\n})",
            "Users",
            "beat",
        ),
        (
            "from c in counters.Users.Shares select new {    delta = c.Value,    name = c.Name }",
            "Users",
            "Shares",
        ),
        (
            "counters.Firms.Beat.Select(c => new {\n    v = c.Value\n})",
            "Firms",
            "Beat",
        ),
        (
            "timeSeries.map('Firms', 'Beat', function (ts) {\nreturn ts.Entries.map(entry => \
                ({\n        v: entry.Value,\n        who: load(entry.Tag, 'People').name\n    \
                }));\n})",
            "Firms",
            "Beat",
        ),
        (
            "timeSeries.map('Firms', function (ts) {\n return ts.Entries.map(entry => ({\n        \
                v: entry.Values[0]\n    }));\n })",
            "Firms",
            "",
        ),
        (
            "timeseries.Users.Beat.SelectMany(ts => ts.Entries, (ts, entry) => new {   v = \
                entry.Values[0],    date = entry.Timestamp.Date });",
            "Users",
            "Beat",
        ),
        (
            "from segment in timeseries.Firms.Prices\r\nlet firm = \
                LoadDocument(segment.DocumentId, \"Firms\")\r\nfrom entry in \
                segment.Entries\r\nselect new \r\n{\r\n    Date = new \
                DateTime(entry.Timestamp.Year, entry.Timestamp.Month, 1),\r\n    Country = \
                firm.Address.Country,\r\n    Volume = entry.Values[4]\r\n}",
            "Firms",
            "Prices",
        ),
    ] {
        let map = compile(text);
        let (MapSource::Counters { collections, names }
        | MapSource::TimeSeries { collections, names }) = map.source()
        else {
            panic!("{text}: {:?}", map.source());
        };
        assert_eq!(collections.as_slice(), [collection], "{text}");
        assert_eq!(names.join(""), name, "{text}");
    }
}
