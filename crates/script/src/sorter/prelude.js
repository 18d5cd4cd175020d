// What translated sorters stand on: the meaning of C# where JavaScript has another, and the driver,
// which asks comparators as Lucene's collector of the best hits does.
//
// Evaluated once in each realm; gets the function that asks the host for the values of a field and
// the one that takes steps for long texts.
//
// Numbers: int, double and char are numbers, long is a BigInt. Lists and arrays are arrays.
(function (askHost, takeSteps) {
    'use strict';
    // Texts up to this length are no work worth counting: built-in functions get through them in the
    // time of a few steps.
    const PLAIN = 256;
    // Texts that are looked for are compared at each place of a text, in the worst case with all of
    // their letters. Up to this length that is work of the same order as the step of 64 letters.
    const NEEDLE = 64;
    // Digits of a whole number that is read; leading zeros count. Longer ones cost more than linear time.
    const DIGITS = 4096;

    class Raised {
        constructor(type, message) {
            this.type = type;
            this.message = message;
        }
    }
    const raise = (type, message) => {
        throw new Raised(type, message);
    };
    const outside = () => raise('System.IndexOutOfRangeException', 'Index was outside the bounds of the array.');
    const range = () => raise('System.ArgumentOutOfRangeException',
        "Index was out of range. Must be non-negative and less than the size of the collection. (Parameter 'index')");
    const missing = (name) => raise('System.ArgumentNullException', `Value cannot be null. (Parameter '${name}')`);
    const format = () => raise('System.FormatException', 'Input string was not in a correct format.');
    const overflow = () => raise('System.OverflowException', 'Arithmetic operation resulted in an overflow.');
    const zero = () => raise('System.DivideByZeroException', 'Attempted to divide by zero.');
    const duplicate = () => raise('System.ArgumentException', 'An item with the same key has already been added.');
    const empty = () => raise('System.InvalidOperationException',
        'Collection was modified; enumeration operation may not execute.');

    // Long texts take steps, so that built-in functions are no way around the limit.
    const charged = (text) => {
        if (text.length > PLAIN) takeSteps(text.length);
        return text;
    };

    const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);
    // The simple mapping of each character, as invariant culture has it.
    const mapped = (text, change) => {
        charged(text);
        if (isAscii(text)) return change(text);
        let out = '';
        for (const letter of text) {
            const other = change(letter);
            out += other.length === letter.length ? other : letter;
        }
        return out;
    };
    const lower = (text) => mapped(text, (part) => part.toLowerCase());
    // These two have capital letters that are not theirs alone; invariant culture leaves them.
    const upper = (text) => mapped(text, (part) => (part === '\u0131' || part === '\u017f' ? part : part.toUpperCase()));

    const ordinal = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    // Punctuation and signs in the order of the root collation; then digits, then letters.
    const SIGNS = '_-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';
    const weight = (letter) => {
        if (letter <= ' ') return '\u0001' + letter;
        const sign = SIGNS.indexOf(letter);
        if (sign >= 0) return '\u0002' + String.fromCharCode(sign + 1);
        if (letter >= '0' && letter <= '9') return '\u0003' + letter;
        return '\u0004' + letter;
    };
    const linguistic = (a, b, ignoresCase) => {
        const plain = [a, b].map((text) => charged(text).normalize('NFD'));
        const bases = plain.map((text) => text.replace(/[\u0300-\u036f]/g, ''));
        const primary = bases.map((text) => Array.from(lower(text), weight).join(''));
        const marks = plain.map((text) => lower(text));
        // Small letters come before capital ones.
        const cases = bases.map((text) => Array.from(text, (c) => (c === lower(c) ? '0' : '1')).join(''));
        return ordinal(...primary) || ordinal(...marks) || (ignoresCase ? 0 : ordinal(...cases));
    };
    // `how` is a member of StringComparison.
    const compareText = (a, b, how) => {
        if (a === b) return 0;
        if (a === null) return -1;
        if (b === null) return 1;
        charged(a);
        charged(b);
        switch (how) {
            case 4: return ordinal(a, b);
            case 5: return ordinal(upper(a), upper(b));
            default: return linguistic(a, b, how === 1 || how === 3);
        }
    };
    const folded = (text, how) => (how === 1 || how === 3 || how === 5 ? upper(text) : text);

    const compare = (a, b) => {
        if (a < b) return -1;
        if (a > b) return 1;
        if (a === b) return 0;
        return a !== a ? (b !== b ? 0 : -1) : 1;
    };

    const numberText = (value) => {
        if (value !== value) return 'NaN';
        if (value === Infinity) return 'Infinity';
        if (value === -Infinity) return '-Infinity';
        if (value === 0) return 1 / value < 0 ? '-0' : '0';
        const [digits, exponent] = value.toExponential().split('e');
        const power = Number(exponent);
        if (power >= 15 || power < -4) {
            const size = String(Math.abs(power)).padStart(2, '0');
            return `${digits}E${power < 0 ? '-' : '+'}${size}`;
        }
        return String(value);
    };

    const objectText = (value) => {
        switch (typeof value) {
            case 'string': return value;
            case 'number': return numberText(value);
            case 'bigint': return String(value);
            case 'boolean': return value ? 'True' : 'False';
            default: return value === null ? '' : raise('System.NotSupportedException', 'This value has no text here.');
        }
    };

    const slot = (list, place) => {
        if (place < 0 || place >= list.length) outside();
        return place;
    };
    const listSlot = (list, place) => {
        if (place < 0 || place >= list.length) range();
        return place;
    };
    const part = (text, start, len) => {
        if (start < 0 || len < 0 || start > text.length - len) {
            raise('System.ArgumentOutOfRangeException',
                "Index and length must refer to a location within the string. (Parameter 'length')");
        }
        return charged(text).substr(start, len);
    };
    const needle = (text) => (text === null ? missing('value') : charged(text));
    // Looks for `other` with `look`, a built-in function that does not ask about the limit.
    const search = (text, other, look) => {
        if (needle(other).length > NEEDLE) takeSteps(text.length * other.length);
        return look(charged(text), other);
    };
    const padded = (text, len, pad) => {
        if (len < 0) {
            raise('System.ArgumentOutOfRangeException', "Non-negative number required. (Parameter 'totalWidth')");
        }
        takeSteps(len);
        return pad(text);
    };
    // Lists know of changes of their elements while they are gone over.
    const touched = (list) => {
        list.version = (list.version ?? 0) + 1;
        return list;
    };
    const SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
    const trimmed = (text, isCut, atStart, atEnd) => {
        let from = 0;
        let to = charged(text).length;
        while (atStart && from < to && isCut(text[from])) from++;
        while (atEnd && to > from && isCut(text[to - 1])) to--;
        return text.slice(from, to);
    };
    const isSpace = (letter) => SPACE.test(letter);
    const letterOf = (code) => String.fromCharCode(code);

    // Dictionaries and sets; keys of texts may be compared without case.
    class Table {
        constructor(how) {
            if (how !== undefined && how !== null && how !== 4 && how !== 5) {
                raise('System.NotSupportedException', 'Keys are compared by StringComparer.Ordinal or OrdinalIgnoreCase here.');
            }
            this.how = how;
            this.map = new Map();
        }
        key(key) {
            if (key === null) missing('key');
            if (typeof key === 'string') charged(key);
            return this.how === 5 ? upper(key) : key;
        }
        // Of a set, which may have null.
        element(key) {
            return key === null ? null : this.key(key);
        }
        find(key) {
            return this.map.get(this.key(key));
        }
        has(key) {
            return this.map.has(this.key(key));
        }
        get(key) {
            const found = this.find(key);
            if (found === undefined) {
                raise('System.Collections.Generic.KeyNotFoundException',
                    `The given key '${objectText(key)}' was not present in the dictionary.`);
            }
            return found[1];
        }
        set(key, value) {
            const known = this.find(key);
            if (known !== undefined) known[1] = value;
            else this.map.set(this.key(key), [key, value]);
            return value;
        }
        add(key, value) {
            if (this.has(key)) duplicate();
            this.set(key, value);
        }
        insert(key) {
            const element = this.element(key);
            if (this.map.has(element)) return false;
            this.map.set(element, [key, key]);
            return true;
        }
        holds(key) {
            return this.map.has(this.element(key));
        }
        drop(key) {
            return this.map.delete(this.element(key));
        }
        remove(key) {
            return this.map.delete(this.key(key));
        }
        all(of) {
            return Array.from(this.map.values(), of);
        }
    }

    const parsed = {
        int: (text) => {
            const whole = parsed.long(text);
            return whole === null || whole < -2147483648n || whole > 2147483647n ? null : Number(whole);
        },
        long: (text) => {
            if (text === null || !/^\s*[+-]?[0-9]+\s*$/.test(charged(text)) || text.length > DIGITS) return null;
            const whole = BigInt(text.trim().replace(/^\+/, ''));
            return BigInt.asIntN(64, whole) === whole ? whole : null;
        },
        double: (text) => {
            if (text === null) return null;
            const plain = charged(text).trim().replace(/,/g, '');
            if (/^-?(Infinity|NaN)$/.test(plain)) return Number(plain);
            if (!/^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(plain)) return null;
            return Number(plain);
        },
        bool: (text) => {
            const word = text === null ? '' : text.trim().toLowerCase();
            return word === 'true' ? true : word === 'false' ? false : null;
        },
    };
    const parse = (kind, text) => {
        if (text === null) missing('s');
        const value = parsed[kind](text);
        if (value !== null) return value;
        if (kind !== 'double' && /^\s*[+-]?[0-9]+\s*$/.test(text)) {
            raise('System.OverflowException', `Value was either too large or too small for an ${kind === 'int' ? 'Int32' : 'Int64'}.`);
        }
        return format();
    };
    const tryParse = (kind, text, give, none) => {
        const value = parsed[kind](text);
        give(value === null ? none : value);
        return value !== null;
    };

    const S = {
        raise, compare, compareText, numberText, objectText, Table, parse, tryParse, lower, upper,
        safe: (value, next) => (value === null ? null : next(value)),
        first: (value) => value,
        there: (value) => (value === null
            ? raise('System.NullReferenceException', 'Object reference not set to an instance of an object.') : value),
        idiv: (a, b) => {
            if (b === 0) zero();
            if (a === -2147483648 && b === -1) overflow();
            return (a / b) | 0;
        },
        imod: (a, b) => {
            if (b === 0) zero();
            if (a === -2147483648 && b === -1) overflow();
            return (a % b) | 0;
        },
        ldiv: (a, b) => {
            if (b === 0n) zero();
            if (a === -9223372036854775808n && b === -1n) overflow();
            return a / b;
        },
        lmod: (a, b) => {
            if (b === 0n) zero();
            return a % b;
        },
        // Out of range is the least number, as on x64.
        toInt: (value) => (value > -2147483649 && value < 2147483648 ? Math.trunc(value) | 0 : -2147483648),
        toLong: (value) => (value >= -9223372036854775808 && value < 9223372036854775808
            ? BigInt(Math.trunc(value)) : -9223372036854775808n),
        castText: (value) => (value === null || typeof value === 'string' ? value
            : raise('System.InvalidCastException', 'Unable to cast object to type \'System.String\'.')),
        asText: (value) => (typeof value === 'string' ? value : null),
        iabs: (value) => (value === -2147483648 ? overflow() : Math.abs(value)),
        labs: (value) => (value === -9223372036854775808n ? overflow() : value < 0n ? -value : value),
        lmin: (a, b) => (b < a ? b : a),
        lmax: (a, b) => (b > a ? b : a),
        sign: (value) => compare(value, 0),
        round: (value) => {
            const floor = Math.floor(value);
            const rest = value - floor;
            if (rest === 0.5) return floor % 2 === 0 ? floor : floor + 1;
            return rest < 0.5 ? floor : floor + 1;
        },
        pow: (a, b) => (a === 1 || b === 0 ? 1 : a === -1 && Math.abs(b) === Infinity ? 1 : Math.pow(a, b)),

        letter: (text, place) => text.charCodeAt(slot(text, place)),
        cut: (text, start) => part(text, start, text.length - start),
        part,
        find: (text, other, how) => search(folded(charged(text), how), folded(needle(other), how), (a, b) => a.indexOf(b)),
        findFrom: (text, other, start) => {
            if (start < 0 || start > text.length) range();
            return search(text, other, (a, b) => a.indexOf(b, start));
        },
        findLetter: (text, code) => charged(text).indexOf(letterOf(code)),
        findLetterFrom: (text, code, start) => {
            if (start < 0 || start > text.length) range();
            return charged(text).indexOf(letterOf(code), start);
        },
        findLast: (text, other) => search(text, other, (a, b) => a.lastIndexOf(b)),
        findLastLetter: (text, code) => charged(text).lastIndexOf(letterOf(code)),
        starts: (text, other, how) => folded(charged(text), how).startsWith(folded(needle(other), how)),
        ends: (text, other, how) => folded(charged(text), how).endsWith(folded(needle(other), how)),
        startsLetter: (text, code) => text.length > 0 && text.charCodeAt(0) === code,
        endsLetter: (text, code) => text.length > 0 && text.charCodeAt(text.length - 1) === code,
        contains: (text, other, how) => search(folded(charged(text), how), folded(needle(other), how), (a, b) => a.includes(b)),
        containsLetter: (text, code) => charged(text).includes(letterOf(code)),
        split: (text, code) => charged(text).split(letterOf(code)),
        splitText: (text, other) => (other === null || other === '' ? [charged(text)]
            : search(text, other, (a, b) => a.split(b))),
        trim: (text) => trimmed(text, isSpace, true, true),
        trimStart: (text) => trimmed(text, isSpace, true, false),
        trimEnd: (text) => trimmed(text, isSpace, false, true),
        trimLetter: (text, code) => trimmed(text, (letter) => letter === letterOf(code), true, true),
        replace: (text, from, to) => {
            if (from === null) missing('oldValue');
            if (from === '') raise('System.ArgumentException', "The value cannot be an empty string. (Parameter 'oldValue')");
            return search(text, from, (a, b) => a.split(b)).join(to ?? '');
        },
        replaceLetter: (text, from, to) => charged(text).split(letterOf(from)).join(letterOf(to)),
        padStart: (text, len) => padded(text, len, (plain) => plain.padStart(len)),
        padStartWith: (text, len, code) => padded(text, len, (plain) => plain.padStart(len, letterOf(code))),
        padEnd: (text, len) => padded(text, len, (plain) => plain.padEnd(len)),
        padEndWith: (text, len, code) => padded(text, len, (plain) => plain.padEnd(len, letterOf(code))),
        same: (a, b) => {
            if (a !== null && b !== null && a.length === b.length) charged(a);
            return a === b;
        },
        equalTo: (text, other, how) => compareText(S.there(text), other, how ?? 4) === 0,
        compareTo: (text, other) => compareText(S.there(text), other, 0),
        ordinal: (a, b) => compareText(a, b, 4),
        equal: (a, b, how) => compareText(a, b, how ?? 4) === 0,
        compareCase: (a, b, ignoresCase) => compareText(a, b, ignoresCase ? 1 : 0),
        isEmpty: (text) => text === null || text === '',
        isBlank: (text) => text === null || trimmed(text, isSpace, true, true) === '',
        letters: (text) => Array.from({ length: charged(text).length }, (_, place) => text.charCodeAt(place)),
        ofLetters: (codes) => codes.map(letterOf).join(''),
        join: (separator, texts) => (texts ?? missing('values')).map((text) => text ?? '').join(separator ?? ''),
        joinLetter: (code, texts) => S.join(letterOf(code), texts),
        concat: (...texts) => texts.map((text) => text ?? '').join(''),
        by: (how, a, b) => compareText(a, b, how),
        sameBy: (how, a, b) => compareText(a, b, how) === 0,
        isDigit: (code) => /^\p{Nd}$/u.test(letterOf(code)),
        isLetter: (code) => /^\p{L}$/u.test(letterOf(code)),
        isLetterOrDigit: (code) => /^[\p{L}\p{Nd}]$/u.test(letterOf(code)),
        isWhite: (code) => isSpace(letterOf(code)),
        isUpper: (code) => /^\p{Lu}$/u.test(letterOf(code)),
        isLower: (code) => /^\p{Ll}$/u.test(letterOf(code)),
        lowerLetter: (code) => lower(letterOf(code)).charCodeAt(0),
        upperLetter: (code) => upper(letterOf(code)).charCodeAt(0),

        array: (len, fill) => {
            if (len < 0) overflow();
            takeSteps(len);
            return new Array(len).fill(fill);
        },
        at: (list, place) => list[slot(list, place)],
        put: (list, place, value) => (list[slot(list, place)] = value),
        change: (list, place, next) => (list[slot(list, place)] = next(list[place])),
        step: (list, place, next) => {
            const old = list[slot(list, place)];
            list[place] = next(old);
            return old;
        },
        listAt: (list, place) => list[listSlot(list, place)],
        listPut: (list, place, value) => (touched(list)[listSlot(list, place)] = value),
        listChange: (list, place, next) => (touched(list)[listSlot(list, place)] = next(list[place])),
        listStep: (list, place, next) => {
            const old = list[listSlot(list, place)];
            touched(list)[place] = next(old);
            return old;
        },
        mapAt: (map, key) => map.get(key),
        mapPut: (map, key, value) => map.set(key, value),
        mapChange: (map, key, next) => map.set(key, next(map.get(key))),
        mapStep: (map, key, next) => {
            const old = map.get(key);
            map.set(key, next(old));
            return old;
        },
        table: (how, pairs) => {
            const table = new Table(how);
            for (const [key, value, isPut] of pairs) {
                if (isPut) table.set(key, value);
                else table.add(key, value);
            }
            return table;
        },
        group: (how, values) => {
            const table = new Table(how);
            for (const value of values) table.insert(value);
            return table;
        },
        tryGet: (map, key, give, none) => {
            const found = map.find(key);
            give(found === undefined ? none : found[1]);
            return found !== undefined;
        },
        pairs: (map) => map.all((pair) => pair),
        keys: (map) => map.all((pair) => pair[0]),
        values: (map) => map.all((pair) => pair[1]),
        clear: (list) => {
            if (list instanceof Table) list.map.clear();
            else list.length = 0;
        },
        add: (list, value) => {
            list.push(value);
        },
        addAll: (list, values) => {
            for (const value of values.slice()) list.push(value);
        },
        insert: (list, place, value) => {
            if (place < 0 || place > list.length) range();
            takeSteps(list.length);
            list.splice(place, 0, value);
        },
        removeAt: (list, place) => {
            takeSteps(list.length);
            list.splice(listSlot(list, place), 1);
        },
        remove: (list, value) => {
            const place = S.indexOf(list, value);
            if (place >= 0) list.splice(place, 1);
            return place >= 0;
        },
        indexOf: (list, value) => {
            takeSteps(list.length * (typeof value === 'string' ? 1 + value.length : 1));
            return list.findIndex((other) => other === value || (other !== other && value !== value));
        },
        has: (list, value) => S.indexOf(list, value) >= 0,
        reverse: (list) => {
            takeSteps(list.length);
            list.reverse();
        },
        copy: (list) => {
            takeSteps(list.length);
            return list.slice();
        },
        sort: (list, by) => {
            list.sort(by);
        },
        each: function* (list) {
            const { length, version } = list;
            for (let place = 0; place < length; place++) {
                yield list[place];
                if (list.length !== length || list.version !== version) empty();
            }
        },

        fieldOf: (reader, field, doc) => {
            if (doc < 0 || doc >= reader.count) outside();
            return reader.texts(field)[doc];
        },
        cached: (reader, field, kind) => reader.cached(field, kind),
    };

    // Entries of the index by their place among the matches.
    class Reader {
        constructor(count) {
            this.count = count;
            this.known = new Map();
        }
        texts(field) {
            return this.kept(field, 'texts', () => JSON.parse(askHost(field)));
        }
        cached(field, kind) {
            if (field === null) missing('field');
            const convert = { int: (text) => (text === null ? 0 : parse('int', text)),
                long: (text) => (text === null ? 0n : parse('long', text)),
                double: (text) => (text === null ? 0 : parse('double', text)),
                float: (text) => (text === null ? 0 : Math.fround(parse('double', text))) }[kind];
            return convert ? this.kept(field, kind, () => this.texts(field).map(convert)) : this.texts(field);
        }
        kept(field, kind, make) {
            const key = `${kind}:${field}`;
            if (!this.known.has(key)) this.known.set(key, make());
            return this.known.get(key);
        }
    }

    // A clause that is no sorter: the ranks of the values, already in the direction wanted.
    class Ranked {
        constructor(ranks) {
            this.ranks = ranks;
            this.slots = [];
        }
        compare(a, b) {
            return this.slots[a] - this.slots[b];
        }
        bottom(slot) {
            this.least = this.slots[slot];
        }
        toBottom(doc) {
            return this.least - this.ranks[doc];
        }
        copy(slot, doc) {
            this.slots[slot] = this.ranks[doc];
        }
    }

    // A sorter; `arity` says for which of its methods the state is left out.
    class Custom {
        constructor(make, clause, numHits, position, reader) {
            this.own = new make(clause.field, numHits, position, clause.desc, null);
            this.sign = clause.desc ? -1 : 1;
            const call = (name, count) => {
                const long = this.own[`m_${name}$${count}`];
                return (long ?? this.own[`m_${name}$${count - 1}`]).bind(this.own);
            };
            const [state, own] = [{}, this.own];
            const [next, toBottom, copy] = [call('SetNextReader', 3), call('CompareBottom', 2), call('Copy', 3)];
            next(reader, 0, state);
            this.compare = (a, b) => this.sign * own.m_Compare$2(a, b);
            this.bottom = (slot) => own.m_SetBottom$1(slot);
            this.toBottom = (doc) => this.sign * toBottom(doc, state);
            this.copy = (slot, doc) => copy(slot, doc, state);
        }
    }

    // The best `numHits` of all hits, worst on top; ties by the order of the index.
    const collect = (clauses, count, numHits) => {
        const heap = [];
        const isWorse = (a, b) => {
            for (const clause of clauses) {
                const order = clause.compare(a.slot, b.slot);
                if (order !== 0) return order > 0;
            }
            return a.doc > b.doc;
        };
        const sink = () => {
            const top = heap[0];
            let at = 0;
            for (;;) {
                let child = 2 * at + 1;
                if (child >= heap.length) break;
                if (child + 1 < heap.length && isWorse(heap[child + 1], heap[child])) child++;
                if (!isWorse(heap[child], top)) break;
                heap[at] = heap[child];
                at = child;
            }
            heap[at] = top;
        };
        const rise = (hit) => {
            let at = heap.push(hit) - 1;
            while (at > 0) {
                const parent = (at - 1) >> 1;
                if (!isWorse(hit, heap[parent])) break;
                heap[at] = heap[parent];
                at = parent;
            }
            heap[at] = hit;
        };
        const isKept = (doc) => {
            for (const clause of clauses) {
                const order = clause.toBottom(doc);
                if (order !== 0) return order > 0;
            }
            // What is kept stands before it in the index.
            return false;
        };
        const setBottom = () => {
            for (const clause of clauses) clause.bottom(heap[0].slot);
        };
        for (let doc = 0; doc < count; doc++) {
            if (doc < numHits) {
                for (const clause of clauses) clause.copy(doc, doc);
                rise({ slot: doc, doc });
                if (doc + 1 === numHits) setBottom();
            } else if (isKept(doc)) {
                for (const clause of clauses) clause.copy(heap[0].slot, doc);
                heap[0].doc = doc;
                sink();
                setBottom();
            }
        }
        const order = new Array(heap.length);
        for (let at = heap.length - 1; at >= 0; at--) {
            order[at] = heap[0].doc;
            const last = heap.pop();
            if (heap.length > 0) {
                heap[0] = last;
                sink();
            }
        }
        return order;
    };

    const drive = (makers, text) => {
        try {
            const task = JSON.parse(text);
            const reader = new Reader(task.count);
            const clauses = task.clauses.map((clause, position) => (clause.ranks
                ? new Ranked(clause.ranks)
                : new Custom(makers[clause.sorter](S), clause, task.wanted, position, reader)));
            return `o${collect(clauses, task.count, task.wanted).join(',')}`;
        } catch (error) {
            if (error instanceof Raised) {
                return `e${error.type}\n${error.message ?? ''}`;
            }
            if (error instanceof TypeError) {
                return 'eSystem.NullReferenceException\nObject reference not set to an instance of an object.';
            }
            throw error;
        }
    };
    return { drive };
})
