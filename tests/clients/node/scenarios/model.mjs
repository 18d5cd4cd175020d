// The documents of all scenarios: albums and their artists.

export const GENRES = ["Jazz", "Rock", "Folk", "Blues"];

export class Artist {
    constructor(name, country) {
        this.name = name;
        this.country = country;
    }
}

export class Album {
    constructor(fields = {}) {
        Object.assign(this, fields);
    }
}

export function album(number) {
    return new Album({
        title: title(number),
        artist: `artists/${number % 3}`,
        genre: GENRES[number % GENRES.length],
        year: 1970 + number,
        price: 9.5 + number,
        released: new Date(Date.UTC(1970 + number, 0, 1)),
        tracks: [0, 1, 2].map(track => `Track ${number}-${track}`),
    });
}

export function title(number) {
    return `Album ${String(number).padStart(3, "0")}`;
}

/** Albums 0 to count - 1 and their three artists, in one transaction. */
export async function storeAlbums(store, count = 20) {
    const session = store.openSession();
    for (const [number, country] of ["SE", "IL", "US"].entries()) {
        await session.store(new Artist(`Artist ${number}`, country), `artists/${number}`);
    }
    for (let number = 0; number < count; number++) {
        await session.store(album(number), `albums/${number}`);
    }
    await session.saveChanges();
}

/** Everything that a readable stream gives, as one buffer. */
export async function bytesOf(stream) {
    const chunks = [];
    for await (const chunk of stream) {
        chunks.push(chunk);
    }
    return Buffer.concat(chunks);
}
