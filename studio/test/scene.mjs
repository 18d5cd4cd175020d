// Databases that checks need and no demo has: long names, hostile texts, large documents.
//
// They are made before the checks and deleted after them.

/** 128 characters is the longest name of a database. */
export const LONG_DATABASE = `studio-test-${"long".repeat(29)}`;
export const HOSTILE_DATABASE = "studio-test-hostile";
export const LARGE_DATABASE = "studio-test-large";

/** 200 characters without a place to break. */
export const LONG = "LongName".repeat(25);
export const LONG_ID = `${"x".repeat(196)}/1`;

/** Runs when it is drawn as markup. */
export const MARKUP = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
/** Reads as another text when it is drawn raw. */
export const TURNED = "safe\u202egnp.exe\u0000\u001b[31m\u200b";
/** How it is to be drawn. */
export const TURNED_SHOWN = "safe\\u202egnp.exe\\u0000\\u001b[31m\\u200b";

/** Ids that an address must carry unharmed. */
export const HOSTILE_IDS = [
  MARKUP,
  "../../admin/databases",
  "a/../b",
  `quotes'"\`\\`,
  "emoji \u{1f426}\u200d\u2b1b/1",
  "x?y=1&z=%41#h+ /1",
  "\u0645\u0631\u062d\u0628\u0627/1",
  "..",
];

const TEXT_BYTES = 8_500_000;
const LARGE_COUNT = 24;
const LARGE_BYTES = 800_000;

export async function prepare(url) {
  await clean(url);
  for (const name of [LONG_DATABASE, HOSTILE_DATABASE, LARGE_DATABASE]) {
    await ask(url, `admin/databases?name=${name}`, "PUT", { DatabaseName: name });
  }
  await prepareLong(url);
  await prepareHostile(url);
  await prepareLarge(url);
}

export async function clean(url) {
  const names = [LONG_DATABASE, HOSTILE_DATABASE, LARGE_DATABASE, "studio-test-made"];
  await ask(url, "admin/databases", "DELETE", { DatabaseNames: names, HardDelete: true });
}

async function prepareLong(url) {
  for (const id of [LONG_ID, "short/1"]) {
    const document = { [LONG]: LONG, Plain: LONG, Number: 1, "@metadata": { "@collection": LONG } };
    await put(url, LONG_DATABASE, id, document);
  }
  const map = `map('${LONG}', d => ({ ${LONG}: d.${LONG}, Plain: d.Plain }))`;
  const definition = { Name: LONG, Maps: [map] };
  await ask(url, `databases/${LONG_DATABASE}/admin/indexes`, "PUT", { Indexes: [definition] });
  const broken = { Name: `${LONG}Wrong`, Maps: [`map('${LONG}', d => { throw new Error('${LONG}'); })`] };
  await ask(url, `databases/${LONG_DATABASE}/admin/indexes`, "PUT", { Indexes: [broken] });
}

async function prepareHostile(url) {
  for (const id of HOSTILE_IDS) {
    const document = { Title: MARKUP, [MARKUP]: TURNED, "@metadata": { "@collection": MARKUP } };
    await put(url, HOSTILE_DATABASE, id, document);
  }
  const turned = { Title: TURNED, [TURNED]: [TURNED], "@metadata": { "@collection": "Turned" } };
  await put(url, HOSTILE_DATABASE, "turned/1", turned);
  await put(url, HOSTILE_DATABASE, "turned/\u202efdp", turned);
  const map = `map('Turned', d => { throw new Error(${JSON.stringify(MARKUP + TURNED)}); })`;
  const definition = { Name: "Hostile", Maps: [map] };
  await ask(url, `databases/${HOSTILE_DATABASE}/admin/indexes`, "PUT", { Indexes: [definition] });
}

async function prepareLarge(url) {
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`Field${at}`, at]));
  await put(url, LARGE_DATABASE, "wide/1", { ...wide, "@metadata": { "@collection": "Wide" } });
  let deep = { Bottom: "reached" };
  for (let depth = 0; depth < 100; depth += 1) {
    deep = { Deeper: deep };
  }
  await put(url, LARGE_DATABASE, "deep/1", { ...deep, "@metadata": { "@collection": "Deep" } });
  const text = { Title: "one long text", Text: "z".repeat(TEXT_BYTES) };
  await put(url, LARGE_DATABASE, "texts/1", { ...text, "@metadata": { "@collection": "Texts" } });
  const body = "w".repeat(LARGE_BYTES);
  for (let at = 0; at < LARGE_COUNT; at += 1) {
    const large = { Number: at, Body: body, "@metadata": { "@collection": "Large" } };
    await put(url, LARGE_DATABASE, `large/${at}`, large);
  }
}

async function put(url, database, id, document) {
  const path = `databases/${database}/docs?id=${encodeURIComponent(id)}`;
  await ask(url, path, "PUT", document);
}

/** Sends JSON and expects success. */
export async function ask(url, path, method, body) {
  const init = { method };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "content-type": "application/json" };
  }
  const answer = await fetch(new URL(path, url), init);
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(`${method} ${path.slice(0, 200)}: ${answer.status} ${text.slice(0, 500)}`);
  }
  return text === "" ? null : JSON.parse(text);
}
