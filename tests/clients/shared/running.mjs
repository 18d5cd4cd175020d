// Runs scenarios and tells how they went: a line for each, and `N passed, N failed` at the end.
// Every suite in JavaScript uses it through a harness of its own.

// Longest time of one scenario; the usual one takes a fraction of a second.
const MILLISECONDS_MAX = 60_000;
const scenarios = [];

/** Registers a scenario: its name states the fact that it checks. */
export function scenario(name, body) {
    scenarios.push({ name, body });
}

/** Waits for a promise, but not forever. */
export async function within(promise, what, milliseconds = 20_000) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not within ${milliseconds} ms: ${what}`)), milliseconds);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Waits for a condition that others bring about, but not forever; gives its value. */
export async function until(condition, what, milliseconds = 20_000) {
    const deadline = performance.now() + milliseconds;
    for (;;) {
        const value = await condition();
        if (value) {
            return value;
        }
        if (performance.now() > deadline) {
            throw new Error(`not within ${milliseconds} ms: ${what}`);
        }
        await new Promise(resolve => setTimeout(resolve, 2));
    }
}

/**
 * Runs every scenario whose name holds `only` by `runOne`, which gets its number, its body and the
 * variant; gives the number of failed ones. All run once for each variant, which their names begin with.
 */
export async function runScenarios(only, runOne, variants = [""]) {
    const all = variants.flatMap(variant =>
        scenarios.map(({ name, body }) => ({ name: variant + name, body, variant })),
    );
    const chosen = all.filter(one => one.name.includes(only));
    let failed = 0;
    for (const [number, one] of chosen.entries()) {
        const started = performance.now();
        const error = await errorOf(runOne, number, one);
        const seconds = ((performance.now() - started) / 1000).toFixed(2).padStart(6);
        console.log(`${error ? "FAILED" : "ok    "}  ${seconds} s  ${one.name}`);
        if (error) {
            failed += 1;
            console.log(error.stack ?? error);
        }
    }
    console.log(`${chosen.length - failed} passed, ${failed} failed`);
    return failed;
}

async function errorOf(runOne, number, { body, variant }) {
    try {
        const bounded = argument => within(body(argument), "the whole scenario", MILLISECONDS_MAX);
        await runOne(number, bounded, variant);
        return null;
    } catch (error) {
        return error ?? new Error("failed without an error");
    }
}
