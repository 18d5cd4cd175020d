// What scripts find in their realm. Evaluates to a function that gets `host`, which answers
// `host(name, arguments as JSON)` with JSON text, and gives what `machine` calls.
//
// - `prepare(names)` makes the names that a program uses known, as undefined: a name nobody
//   declared is no error.
// - `seal(isClosed)` makes what scripts find unchangeable: a run leaves nothing behind for the next.
//   Closed, no global can be added either, so that there is none to look for after each run.
// - `run(program, isPatch, text)` runs a program once.
(function (host, functions, charge) {
  'use strict';
  const { parse, stringify } = JSON;
  const { create, defineProperty, getPrototypeOf, hasOwn, setPrototypeOf } = Object;
  const METADATA = '@metadata';
  // What the database says of a document, by the object that stands for it.
  const about = new WeakMap();
  // All of what it says of documents.
  const records = new WeakSet();
  let outputs = [];
  let main = null;

  function ask(name, values) {
    return parse(host(name, stringify(values, plain)));
  }

  // Undefined is null in a document; a function or symbol is left out.
  function plain(key, value) {
    return value === undefined ? null : value;
  }

  // As `plain`; a stored document comes with its id in its metadata, and metadata alone with all
  // that the database says.
  function shown(key, value) {
    const known = isObject(value) ? about.get(value) : undefined;
    const inherited = isObject(value) ? getPrototypeOf(value) : undefined;
    if (key !== METADATA && records.has(inherited)) return { ...value, ...inherited };
    const id = known === undefined ? '' : known['@id'];
    if (id === '' || id === undefined) return plain(key, value);
    return { ...value, [METADATA]: { ...ownMetadata(value), '@id': id } };
  }

  function isObject(value) {
    return typeof value === 'object' && value !== null;
  }

  // Of a document without metadata, `@metadata` is what the database says, until it is set.
  const bare = create(Object.prototype, {
    [METADATA]: {
      get() {
        return getMetadata(this);
      },
      set(value) {
        const how = { configurable: true, enumerable: true, writable: true };
        defineProperty(this, METADATA, { value, ...how });
      },
    },
  });

  // Metadata inherits what the database says: it is read there, and not stored.
  function document(answer) {
    if (answer === null) return null;
    const { a: known, d: value } = answer;
    about.set(value, known);
    records.add(known);
    const own = ownMetadata(value);
    if (isObject(own)) setPrototypeOf(own, known);
    else setPrototypeOf(value, bare);
    return value;
  }

  function ownMetadata(value) {
    return isObject(value) && hasOwn(value, METADATA) ? value[METADATA] : undefined;
  }

  function argument(input) {
    if (input === null) return null;
    if ('l' in input) return input.l.map(document);
    return 'v' in input ? input.v : document(input);
  }

  function idOf(value) {
    if (typeof value === 'string') return value;
    const known = isObject(value) ? about.get(value) : undefined;
    return known === undefined ? null : known['@id'];
  }

  // The collection is told to hosts that ask for it: those of indexes.
  function load(ids, collection) {
    if (Array.isArray(ids)) return ids.map((id) => load(id, collection));
    if (typeof ids !== 'string' || ids === '') return null;
    return document(ask('load', typeof collection === 'string' ? [ids, collection] : [ids]));
  }

  function valuesAt(value, parts, found) {
    if (Array.isArray(value)) {
      for (const item of value) valuesAt(item, parts, found);
    } else if (parts.length === 0) {
      if (typeof value === 'string') found.push(value);
    } else if (isObject(value)) {
      valuesAt(value[parts[0].replace('[]', '')], parts.slice(1), found);
    }
    return found;
  }

  // A copy with what the database knows; what is set in it is set in the document too.
  function getMetadata(value) {
    const known = isObject(value) ? about.get(value) : undefined;
    const copy = { ...ownMetadata(value), ...known };
    return new Proxy(copy, {
      set(target, name, item) {
        target[name] = item;
        if (!isObject(ownMetadata(value))) value[METADATA] = {};
        value[METADATA][name] = item;
        return true;
      },
      deleteProperty(target, name) {
        if (isObject(ownMetadata(value))) delete value[METADATA][name];
        return delete target[name];
      },
    });
  }

  // An attachment with its text, which is read when it is asked for.
  function withText(id, attachment) {
    if (!isObject(attachment)) return null;
    const getContentAsString = () => ask('attachmentText', [id, attachment.Name]);
    return defineProperty(attachment, 'getContentAsString', { value: getContentAsString });
  }

  function attachmentsOf(name, value) {
    const id = idOf(value);
    return ask(name, [id]).map((attachment) => withText(id, attachment));
  }

  function output(...values) {
    for (const value of values) {
      outputs.push(typeof value === 'string' ? value : stringify(value) ?? String(value));
    }
  }

  const offered = {
    id: (value = main) => {
      const known = isObject(value) ? about.get(value) : undefined;
      return known === undefined ? null : known['@id'];
    },
    getMetadata,
    lastModified: (value) => {
      const known = isObject(value) ? about.get(value) : undefined;
      return known === undefined ? null : new Date(known['@last-modified']).getTime();
    },
    load,
    loadPath: (value, path) => {
      const found = load(valuesAt(value, String(path).split('.'), []));
      return String(path).includes('[]') || found.length > 1 ? found : found[0] ?? null;
    },
    put: (id, value, changeVector) => {
      if (!isObject(value) || Array.isArray(value)) {
        throw new TypeError('put() needs an object as the document: put(id, document)');
      }
      return ask('put', [id, value, changeVector]);
    },
    del: (id, changeVector) => ask('del', [idOf(id), changeVector]),
    timeseries: (owner, name) => {
      const call = (verb, ...values) => ask('timeseries.' + verb, [idOf(owner), name, ...values]);
      return {
        append: (at, values, tag) => call('append', at, values, tag),
        // Without a time it is now.
        increment: (...parts) => call('increment', ...(parts.length > 1 ? parts : [null, ...parts])),
        // A time that is missing by mistake must not widen the range.
        delete: (...range) => {
          if (range.length !== 0 && (range.length !== 2 || range.some((time) => time == null))) {
            throw new TypeError('delete() takes two times, (from, to), or none for all entries');
          }
          return call('delete', ...range);
        },
        get: (...range) => {
          if (range.length !== 0 && range.length !== 2) {
            throw new TypeError('get() takes two times, (from, to), or none for all entries');
          }
          return call('get', ...range);
        },
        getStats: () => call('getStats'),
      };
    },
    loadAttachment: (value, name) => {
      const id = idOf(value);
      return withText(id, ask('loadAttachment', [id, name]));
    },
    loadAttachments: (value) => attachmentsOf('loadAttachments', value),
    attachmentsFor: (value) => attachmentsOf('attachmentsFor', value),
    // What clients make of Math.Min and Math.Max: of two values of which one is null, the other.
    Raven_Min: (left, right) => {
      if (left === null || left === undefined) return right ?? null;
      return right === null || right === undefined || left < right ? left : right;
    },
    Raven_Max: (left, right) => {
      if (left === null || left === undefined) return right ?? null;
      return right === null || right === undefined || left > right ? left : right;
    },
    // The value as it is: digits that a number cannot hold are put back in any case.
    scalarToRawString: (value, field) => {
      if (typeof field !== 'function') {
        throw new TypeError('scalarToRawString() takes a document and a function of it');
      }
      const found = field(value);
      if (isObject(found)) throw new TypeError('scalarToRawString() is for numbers and texts');
      return found ?? null;
    },
    output,
    console: { log: output },
    startsWith: (text, start) => typeof text === 'string' && text.startsWith(start),
    endsWith: (text, end) => typeof text === 'string' && text.endsWith(end),
    regex: (text, pattern) => typeof text === 'string' && new RegExp(pattern).test(text),
  };

  // Functions of the host that only pass values on. Their documents go by id.
  for (const name of functions) {
    const parts = name.split('.');
    const last = parts.pop();
    let place = offered;
    for (const part of parts) place = place[part] ??= {};
    place[last] = (...values) =>
      ask(name, values.map((value) => (isObject(value) && about.has(value) ? idOf(value) : value)));
  }
  // Of what is no place there is no distance: it is less than none, and more than none.
  const { distance } = offered.spatial;
  offered.spatial.distance = (...values) => distance(...values) ?? undefined;
  Object.assign(globalThis, offered);

  // The engine counts turns and calls, not what a built-in function does with a long text: that
  // is charged for here. A charge that cannot be paid ends the script.
  const CHARGED_LENGTH = 1024;
  // The length of what a method is called on, or of its longest argument.
  function longest(value, values) {
    let length = value?.length ?? 0;
    for (const other of values) {
      const otherLength = other?.length;
      if (otherLength > length) length = otherLength;
    }
    return length;
  }
  function chargeFor(prototype, names, lengthOf = longest) {
    for (const name of names) {
      const original = prototype[name];
      if (typeof original !== 'function') continue;
      // These make something as long as their argument says.
      const makes = ['padEnd', 'padStart', 'repeat'].includes(name);
      const { [name]: charged } = {
        [name](...values) {
          let length = lengthOf(this, values);
          if (makes && values[0] > length) length = Number(values[0]);
          if (length > CHARGED_LENGTH) charge(length);
          return apply(original, this, values);
        },
      };
      Object.defineProperty(prototype, name, { value: charged });
    }
  }
  // The engine compares a sought text at each place of the other one, in the worst case to its end:
  // eight comparisons cost as much as a character.
  const COMPARISONS_A_CHARACTER = 8;
  const { apply } = Reflect;
  function chargeSearch(length, soughtLength) {
    const comparisons = Math.max(0, length - soughtLength + 1) * soughtLength;
    if (comparisons > CHARGED_LENGTH) charge(comparisons / COMPARISONS_A_CHARACTER);
  }
  // The text that `value` is sought as; of a regular expression itself.
  function sought(value, symbol) {
    if (typeof value === 'string' || typeof value === 'symbol') return value;
    if (symbol !== undefined && isObject(value) && typeof value[symbol] === 'function') return value;
    return String(value);
  }
  function chargeForSearches(names) {
    for (const [key, symbol] of Object.entries(names)) {
      const original = String.prototype[key];
      const { [key]: charged } = {
        [key](...values) {
          if (this === undefined || this === null) return apply(original, this, values);
          const text = typeof this === 'string' ? this : String(this);
          if (values.length > 0 && !(key === 'split' && values[0] === undefined)) {
            values[0] = sought(values[0], symbol ?? undefined);
            if (typeof values[0] === 'string') chargeSearch(text.length, values[0].length);
          }
          return apply(original, text, values);
        },
      };
      Object.defineProperty(String.prototype, key, { value: charged });
    }
  }
  function chargeForFinds(prototype, names) {
    for (const name of names) {
      const original = prototype[name];
      const { [name]: charged } = {
        [name](...values) {
          const length = typeof values[0] === 'string' ? values[0].length : 0;
          const comparisons = (this?.length ?? 0) * length;
          if (comparisons > CHARGED_LENGTH) charge(comparisons / COMPARISONS_A_CHARACTER);
          return apply(original, this, values);
        },
      };
      Object.defineProperty(prototype, name, { value: charged });
    }
  }
  const texts = [
    'concat', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'localeCompare', 'match',
    'matchAll', 'normalize', 'padEnd', 'padStart', 'repeat', 'replace', 'replaceAll', 'search',
    'slice', 'split', 'startsWith', 'substr', 'substring', 'toLowerCase', 'toUpperCase',
    'toLocaleLowerCase', 'toLocaleUpperCase', 'trim', 'trimEnd', 'trimStart', 'isWellFormed',
    'toWellFormed',
  ];
  const lists = [
    'concat', 'copyWithin', 'fill', 'includes', 'indexOf', 'join', 'lastIndexOf', 'reverse',
    'shift', 'slice', 'splice', 'toReversed', 'toSpliced', 'unshift', 'with',
  ];
  chargeFor(String.prototype, texts);
  chargeFor(Array.prototype, lists);
  chargeForSearches({
    includes: Symbol.match, indexOf: null, lastIndexOf: null, replace: Symbol.replace,
    replaceAll: Symbol.replace, split: Symbol.split,
  });
  chargeForFinds(Array.prototype, ['includes', 'indexOf', 'lastIndexOf']);
  const typed = getPrototypeOf(Int8Array.prototype);
  chargeFor(typed, [...lists, 'set', 'subarray']);
  chargeFor(JSON, ['parse']);
  // A sort compares an element with so many others as its number has binary digits.
  const sorted = (value) => {
    const length = value?.length ?? 0;
    return length * Math.ceil(Math.log2(length + 1));
  };
  chargeFor(typed, ['sort', 'toSorted'], sorted);
  // A text that is a key is read to its end.
  const keyed = (_, values) => (typeof values[0] === 'string' ? values[0].length : 0);
  chargeFor(Map.prototype, ['delete', 'get', 'has', 'set'], keyed);
  chargeFor(Set.prototype, ['add', 'delete', 'has'], keyed);
  // Digits of a BigInt are taken off one group after the other, each a division of all that is left.
  const BITS_A_DIGIT = 5;
  const BITS_A_LIMB = 64;
  const written = BigInt.prototype.toString;
  chargeFor(BigInt.prototype, ['toString', 'toLocaleString'], (value, [radix]) => {
    if (typeof value !== 'bigint') return 0;
    const bits = apply(written, value, [1 << BITS_A_DIGIT]).length * BITS_A_DIGIT;
    const isDivided = ![2, 4, 8, 16, 32].includes(radix);
    return isDivided ? (bits / BITS_A_LIMB) ** 2 : bits;
  });

  // Lists inside lists are walked here, where each turn is counted.
  function flattened(list, depth) {
    const flat = [];
    const open = [{ list, at: 0 }];
    while (open.length > 0) {
      const last = open[open.length - 1];
      if (last.at >= last.list.length) {
        open.pop();
        continue;
      }
      const at = last.at++;
      if (!(at in last.list)) continue;
      const item = last.list[at];
      if (Array.isArray(item) && open.length <= depth) open.push({ list: item, at: 0 });
      else flat.push(item);
    }
    return flat;
  }
  const { map } = Array.prototype;
  const flats = {
    flat(depth = 1) {
      return flattened(Object(this), Math.trunc(Number(depth)) || 0);
    },
    flatMap(f, of) {
      return flattened(apply(map, this, [f, of]), 1);
    },
  };
  for (const name of Object.keys(flats)) {
    Object.defineProperty(Array.prototype, name, { value: flats[name] });
  }

  // Dates are of UTC, whatever the zone of the machine is.
  const MachineDate = Date;
  const NO_ZONE = /^\d{4}-\d\d-\d\dT[\d:.]*$/;
  globalThis.Date = class Date extends MachineDate {
    constructor(...parts) {
      const [first] = parts;
      if (parts.length > 1) super(MachineDate.UTC(...parts));
      else if (typeof first === 'string') super(NO_ZONE.test(first) ? first + 'Z' : first);
      else super(...parts);
    }
    static parse(text) {
      return new globalThis.Date(String(text)).getTime();
    }
    getTimezoneOffset() {
      return 0;
    }
  };
  const parts = ['Date', 'Day', 'FullYear', 'Hours', 'Milliseconds', 'Minutes', 'Month', 'Seconds'];
  for (const part of parts) {
    for (const verb of ['get', 'set']) {
      const method = MachineDate.prototype[verb + 'UTC' + part];
      if (method !== undefined) {
        Object.defineProperty(globalThis.Date.prototype, verb + part, { value: method });
      }
    }
  }

  // No text becomes code.
  const makers = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (const maker of makers) {
    Object.defineProperty(Object.getPrototypeOf(maker), 'constructor', { value: undefined });
  }
  delete globalThis.eval;
  delete globalThis.Function;

  // Frozen prototypes would keep objects from having fields of the same name: those that
  // programs do set are made to be set.
  function letBeSet(prototype, names) {
    for (const name of names) {
      const value = prototype[name];
      Object.defineProperty(prototype, name, {
        get: () => value,
        set(item) {
          Object.defineProperty(this, name, {
            value: item, writable: true, enumerable: true, configurable: true,
          });
        },
      });
    }
  }
  letBeSet(Object.prototype, [
    'constructor', 'toString', 'valueOf', 'hasOwnProperty', 'toLocaleString', 'isPrototypeOf',
    'propertyIsEnumerable',
  ]);
  for (const one of [Error, TypeError, RangeError, SyntaxError, ReferenceError]) {
    letBeSet(one.prototype, ['name', 'message', 'constructor', 'toString']);
  }

  function freeze(root, seen) {
    const open = [root];
    while (open.length > 0) {
      const value = open.pop();
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null) continue;
      if (seen.has(value)) continue;
      seen.add(value);
      if (value !== globalThis) Object.freeze(value);
      open.push(Object.getPrototypeOf(value));
      for (const key of Reflect.ownKeys(value)) {
        const property = Object.getOwnPropertyDescriptor(value, key);
        open.push(property.value, property.get, property.set);
      }
    }
  }
  const seen = new WeakSet();
  for (const maker of makers) freeze(maker, seen);
  freeze([][Symbol.iterator](), seen);
  freeze(''[Symbol.iterator](), seen);
  freeze(new Map().entries(), seen);
  freeze(new Set().values(), seen);
  freeze(globalThis, seen);

  let known = new Set();
  let names = [];
  let canGrow = true;

  function prepare(list) {
    names = list.filter((name) => !(name in globalThis));
    for (const name of names) globalThis[name] = undefined;
  }

  function seal(isClosed) {
    names = names.filter((name) => globalThis[name] === undefined);
    known = new Set(Reflect.ownKeys(globalThis));
    const free = new Set(names);
    for (const key of known) {
      const property = Object.getOwnPropertyDescriptor(globalThis, key);
      if (free.has(key) || !property.configurable && !property.writable) continue;
      if (property.value !== globalThis) Object.freeze(property.value);
      Object.defineProperty(globalThis, key, 'value' in property
        ? { writable: false, configurable: false }
        : { configurable: false });
    }
    canGrow = !isClosed;
    if (isClosed) Object.preventExtensions(globalThis);
  }

  function clean() {
    if (canGrow) {
      for (const key of Reflect.ownKeys(globalThis)) {
        if (!known.has(key)) delete globalThis[key];
      }
    }
    for (const name of names) globalThis[name] = undefined;
    outputs = [];
    main = null;
  }

  function run(program, isPatch, text) {
    try {
      const input = parse(text);
      const values = input.v.map(argument);
      const args = input.p ?? {};
      for (const name of Object.keys(args)) {
        const isFree = canGrow && !known.has('$' + name) || names.includes('$' + name);
        if (isFree) globalThis['$' + name] = args[name];
      }
      main = values[0];
      const result = program.apply(main, [...values, args]);
      const left = (isPatch ? stringify(main, plain) : stringify(result, shown)) ?? 'null';
      return '{"r":' + left + ',"o":' + stringify(outputs) + '}';
    } finally {
      clean();
    }
  }

  return { prepare, seal, run };
})
