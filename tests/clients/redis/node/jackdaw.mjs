// A `jackdaw serve --redis` process for scenarios that need a password or a restart.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** The program; `JACKDAW_BINARY` names it, otherwise it is looked for on the path. */
const BINARY = process.env.JACKDAW_BINARY ?? "jackdaw";

/** Starts a server on a free port, or on the one given; ends when it serves. */
export async function startRedis({ port = 0, password, more = [] } = {}) {
    const redis = ["--redis", `127.0.0.1:${port}`, ...more];
    const child = spawn(BINARY, ["serve", "--in-memory", "--listen", "127.0.0.1:0", ...redis], {
        stdio: ["ignore", "pipe", "inherit"],
        env: password === undefined ? process.env : { ...process.env, JACKDAW_REDIS_PASSWORD: password },
    });
    const ended = once(child, "exit");
    let found = null;
    for await (const line of createInterface({ input: child.stdout })) {
        found = /redis:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? found;
        if (line.startsWith("Ctrl-C")) {
            break;
        }
    }
    if (!found) {
        child.kill("SIGKILL");
        throw new Error(`${BINARY} did not serve Redis`);
    }
    const end = async signal => {
        child.kill(signal);
        return (await ended)[0];
    };
    return {
        port: Number(found[1]),
        /** As a service manager does it; gives the exit status. */
        stop: () => end("SIGTERM"),
        /** Without a chance to write anything. */
        kill: () => end("SIGKILL"),
    };
}
