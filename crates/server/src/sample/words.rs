//! Words that names are made of.

pub(super) const FIRST_NAMES: [&str; 24] = [
    "Ada", "Bela", "Cleo", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kaja",
    "Lior", "Mira", "Nils", "Olga", "Pablo", "Rosa", "Sami", "Tilda", "Umut", "Vera", "Wim",
    "Yara", "Zeno",
];
pub(super) const LAST_NAMES: [&str; 24] = [
    "Adler", "Bianchi", "Castell", "Duarte", "Ekman", "Fabre", "Gruber", "Hoang", "Ivanov",
    "Jansen", "Kovac", "Lindt", "Moreau", "Novak", "Okafor", "Petit", "Quist", "Rossi", "Silva",
    "Tanaka", "Urban", "Vogel", "Weber", "Zorn",
];
pub(super) const FIRM_HEADS: [&str; 20] = [
    "Amber",
    "Birch",
    "Cobalt",
    "Dune",
    "Ember",
    "Fjord",
    "Granite",
    "Harbor",
    "Indigo",
    "Juniper",
    "Kestrel",
    "Lantern",
    "Marble",
    "North Pier",
    "Orchard",
    "Pebble",
    "Quill",
    "Raven Hill",
    "Saffron",
    "Thistle",
];
pub(super) const FIRM_TAILS: [&str; 10] = [
    "Foods",
    "Trading",
    "& Sons",
    "Markets",
    "Delicatessen",
    "Provisions",
    "Kitchens",
    "Imports",
    "Larder",
    "Table",
];
pub(super) const TITLES: [&str; 8] = [
    "Owner",
    "Buyer",
    "Sales Manager",
    "Accountant",
    "Order Clerk",
    "Marketing Assistant",
    "Sales Agent",
    "Head of Purchasing",
];
pub(super) const STREETS: [&str; 10] = [
    "Mill Lane",
    "Station Road",
    "Quay Street",
    "Garden Row",
    "Church Hill",
    "Market Square",
    "River Walk",
    "Old Bridge",
    "Chestnut Avenue",
    "Harbor View",
];
/// City, country, latitude and longitude in thousandths of degrees.
pub(super) const CITIES: [(&str, &str, i64, i64); 20] = [
    ("Oslo", "Norway", 59_914, 10_752),
    ("Lisbon", "Portugal", 38_722, -9_139),
    ("Lyon", "France", 45_764, 4_836),
    ("Turin", "Italy", 45_071, 7_687),
    ("Graz", "Austria", 47_071, 15_440),
    ("Bern", "Switzerland", 46_948, 7_447),
    ("Gdansk", "Poland", 54_352, 18_647),
    ("Aarhus", "Denmark", 56_163, 10_204),
    ("Ghent", "Belgium", 51_054, 3_717),
    ("Utrecht", "Netherlands", 52_091, 5_122),
    ("Cork", "Ireland", 51_898, -8_476),
    ("Leeds", "United Kingdom", 53_801, -1_549),
    ("Seville", "Spain", 37_389, -5_984),
    ("Bremen", "Germany", 53_079, 8_802),
    ("Turku", "Finland", 60_452, 22_267),
    ("Boston", "USA", 42_361, -71_057),
    ("Seattle", "USA", 47_606, -122_332),
    ("Recife", "Brazil", -8_054, -34_881),
    ("Quebec", "Canada", 46_814, -71_208),
    ("Puebla", "Mexico", 19_041, -98_206),
];
pub(super) const CATEGORY_NAMES: [(&str, &str); 8] = [
    ("Teas", "Leaves and blends, hot or iced"),
    ("Spreads", "Jams, pastes and honeys"),
    ("Sweets", "Biscuits, bars and candied fruit"),
    ("Cheeses", "From fresh curd to old wheels"),
    ("Cereals", "Breads, flakes and noodles"),
    ("Preserves", "Pickles and cured vegetables"),
    ("Greens", "Dried fruit and fresh herbs"),
    ("Fish", "Smoked, salted and tinned"),
];
pub(super) const GOODS_HEADS: [&str; 12] = [
    "Alpine",
    "Black",
    "Coastal",
    "Double",
    "Early",
    "Farmhouse",
    "Golden",
    "Highland",
    "Island",
    "Little",
    "Old",
    "Wild",
];
/// Two goods for each category.
pub(super) const GOODS: [[&str; 2]; 8] = [
    ["Green Tea", "Rooibos"],
    ["Plum Jam", "Heather Honey"],
    ["Oat Biscuits", "Candied Ginger"],
    ["Goat Cheese", "Blue Wheel"],
    ["Rye Bread", "Barley Flakes"],
    ["Pickled Beets", "Cured Olives"],
    ["Dried Pears", "Lovage"],
    ["Smoked Trout", "Salted Herring"],
];
pub(super) const PACKS: [&str; 6] = [
    "10 boxes x 20 bags",
    "24 jars of 250 g",
    "12 tins",
    "5 kg",
    "20 packs of 500 g",
    "36 pieces",
];
