// What JavaScript of static indexes finds beside the prelude. Declared in front of its text, in
// the same realm; `$run` is called behind it.
let $found = [];

function map(collection, f) {
  $found.push({ kind: 'documents', collection, f });
}
const counters = Object.freeze({
  map: (collection, name, f) => $found.push(f === undefined
    ? { kind: 'counters', collection, f: name }
    : { kind: 'counters', collection, name, f }),
});
const timeSeries = Object.freeze({
  map: (collection, name, f) => $found.push(f === undefined
    ? { kind: 'timeSeries', collection, f: name }
    : { kind: 'timeSeries', collection, name, f }),
});
function groupBy(key) {
  return { aggregate: (f) => { $found.push({ kind: 'reduce', key, f }); } };
}

// Values of options of fields, in any letter case; a boolean says yes or no.
const $OPTIONS = {
  indexing: ['default', 'exact', 'highlighting', 'no', 'search'],
  storage: ['no', 'yes'],
  termvector: ['no', 'withoffsets', 'withpositions', 'withpositionsandoffsets', 'yes'],
};
function createField(name, value, options) {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError('createField() needs the name of the field, a text');
  }
  for (const [option, given] of Object.entries(options ?? {})) {
    const known = $OPTIONS[option.toLowerCase()];
    if (known === undefined || given === null || typeof given === 'boolean') continue;
    if (!known.includes(String(given).toLowerCase())) {
      throw new TypeError(`createField(): '${given}' is no value of the option ${option}`);
    }
  }
  return { $field: name, $value: value, $options: options };
}
function createSpatialField(first, second) {
  if (second === undefined) return first === undefined || first === null ? null : { $spatial: first };
  // Texts are read as numbers where the place is indexed.
  const isNumber = (value) => typeof value === 'number'
    || (typeof value === 'string' && value.trim() !== '' && !isNaN(value));
  if (!isNumber(first) || !isNumber(second)) return null;
  return { $spatial: { Latitude: first, Longitude: second } };
}
function createVector(value) {
  return value === undefined || value === null ? null : { $vector: value };
}
function boost(value, factor) {
  const isEntry = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isEntry ? { ...value, $boost: factor } : { $value: value, $boost: factor };
}

// Dates as the database writes them; all else as it is.
function $plain(value) {
  if (value instanceof Date) {
    return isNaN(value) ? null : value.toISOString().replace('Z', '0000Z');
  }
  if (Array.isArray(value)) return value.map($plain);
  for (const name in value) {
    const item = value[name];
    if (typeof item === 'object' && item !== null) value[name] = $plain(item);
  }
  return value;
}

function $collect(result, entries) {
  if (typeof result !== 'object' || result === null) return;
  if (Array.isArray(result)) {
    for (const item of result) $collect(item, entries);
  } else {
    // A field that is undefined is left out.
    for (const name in result) if (result[name] === undefined) delete result[name];
    entries.push($plain(result));
  }
}

// Entries of a time series as programs see them.
function $series(item) {
  for (const entry of item.Entries) {
    entry.Timestamp = new Date(entry.Timestamp);
    entry.Value = entry.Values[0];
  }
  item.Start = new Date(item.Start);
  item.End = new Date(item.End);
  return item;
}

// The fields of entries that a key function reads, by running it over a stand-in; null when it
// does more than to name them.
function $keyFields(key) {
  const names = new Map();
  let isPlain = true;
  const standIn = new Proxy({}, {
    get(_, name) {
      if (typeof name !== 'string') {
        isPlain = false;
        return undefined;
      }
      const value = () => name;
      names.set(value, name);
      return value;
    },
  });
  const result = key(standIn);
  if (names.has(result)) return isPlain ? [names.get(result)] : null;
  if (typeof result === 'function') return null;
  if (typeof result !== 'object' || result === null) return isPlain && names.size === 0 ? [] : null;
  const fields = [];
  for (const name of Object.keys(result)) {
    if (names.has(result[name])) fields.push(names.get(result[name]));
    else isPlain = false;
  }
  return isPlain ? fields : null;
}

// An entry of a group: fields that the map left out are null, as they would be in a document.
function $filled(entry, fields) {
  for (const name of fields) if (!(name in entry)) entry[name] = null;
  return entry;
}

function $run(item, mode, fields) {
  const found = $found;
  $found = [];
  if (mode === 'describe') {
    return found.map(({ kind, collection, name, key, f }) => ({
      kind, collection, name, isFunction: typeof f === 'function',
      keys: typeof key === 'function' ? $keyFields(key) : null,
    }));
  }
  const entries = [];
  if (mode === 'reduce') {
    const { key, f } = found[found.length - 1];
    const values = item.map((entry) => $filled(entry, fields));
    $collect(f({ key: key(values[0]), values }), entries);
    return entries;
  }
  const input = mode === 'timeSeries' ? $series(item) : item;
  for (const { f } of found) $collect(f(input), entries);
  return entries;
}
