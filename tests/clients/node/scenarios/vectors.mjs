// Searches for vectors: by the query builder, over documents and over a static index.

import assert from "node:assert/strict";
import { AbstractJavaScriptIndexCreationTask } from "ravendb";
import { scenario } from "../harness.mjs";

class Picture {
    constructor(fields = {}) {
        Object.assign(this, fields);
    }
}

class PicturesByVector extends AbstractJavaScriptIndexCreationTask {
    constructor() {
        super();
        this.map("Pictures", picture => ({ kind: picture.kind, vector: createVector(picture.embedding) }));
        this.vectorField("vector", { sourceEmbeddingType: "Single", destinationEmbeddingType: "Binary" });
    }
}

const PICTURES = [
    ["sun", "sky", [1, 0.2, 0.1]],
    ["moon", "sky", [0.9, 0.4, -0.1]],
    ["tree", "wood", [-0.1, 1, 0.1]],
    ["night", "sky", [-1, -0.2, -0.1]],
];

async function storePictures(store) {
    const session = store.openSession();
    for (const [name, kind, embedding] of PICTURES) {
        await session.store(new Picture({ name, kind, embedding }), `pictures/${name}`);
    }
    await session.saveChanges();
}

const names = async query => (await query.waitForNonStaleResults().all()).map(one => one.name);
const pictures = store => store.openSession().query(Picture);

scenario("vectors near to one are found", async store => {
    await storePictures(store);
    const target = [1, 0.1, 0];
    assert.deepEqual(
        await names(pictures(store).vectorSearch("embedding", target)),
        ["sun", "moon", "tree", "night"],
    );
    assert.deepEqual(
        await names(pictures(store).vectorSearch("embedding", target, { similarity: 0.9, numberOfCandidates: 3 })),
        ["sun", "moon"],
    );
    const bytes = field => field.withEmbedding("embedding", "Single").targetQuantization("Int8");
    assert.deepEqual(
        await names(pictures(store).vectorSearch(bytes, target, { numberOfCandidates: 1, isExact: true })),
        ["sun"],
    );
    const both = pictures(store).whereEquals("kind", "wood").andAlso().vectorSearch("embedding", target);
    assert.deepEqual(await names(both), ["tree"]);
    const like = pictures(store).vectorSearch("embedding", value => value.forDocument("pictures/night"));
    assert.equal((await names(like))[0], "night");
    await assert.rejects(names(pictures(store).vectorSearch("embedding", [1, 0])), /3 dimensions/);
});

scenario("vectors of a static index are found", async store => {
    await new PicturesByVector().execute(store);
    await storePictures(store);
    const query = store
        .openSession()
        .query({ documentType: Picture, index: PicturesByVector })
        .vectorSearch("vector", [1, 0.1, 0.1], { similarity: 0.6 });
    assert.deepEqual(await names(query), ["sun", "moon", "tree"]);
});
