// Checks that every room fits its window, whatever names are in it, on a desk and on a phone.

import assert from "node:assert/strict";
import { openRoom, ROOMS } from "./rooms.mjs";

const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

export const fitChecks = SIZES.map((size) => [
  `every room fits a window of ${size.width} pixels`,
  (page) => everyRoomFits(page, size),
]);

async function everyRoomFits(page, size) {
  await page.raw.setViewportSize(size);
  const found = [];
  for (const room of ROOMS) {
    await openRoom(page, room);
    const misfits = await page.raw.evaluate(misfitsOf);
    found.push(...misfits.map((misfit) => `${room[0]}: ${misfit}`));
    await page.picture(`fit-${size.width}-${room[0].replaceAll(" ", "-")}`);
  }
  assert.deepEqual(found, []);
}

/** In the page: boxes with more in them than they show, and controls out of sight or covered. */
function misfitsOf() {
  const found = [];
  const name = (element) =>
    `${element.tagName.toLowerCase()}.${element.className} ${element.textContent.slice(0, 20)}`;
  const boxes = ["html", "body", ".top-bar", ".room", ".room-body", ".room-body > *", ".room-body > * > *"];
  for (const box of document.querySelectorAll(boxes.join())) {
    const style = getComputedStyle(box);
    const isSeen = style.visibility === "visible" && box.clientWidth > 0;
    if (isSeen && style.display !== "inline" && box.scrollWidth > box.clientWidth) {
      found.push(`${name(box)}: ${box.scrollWidth} > ${box.clientWidth}`);
    }
  }
  // What lies below an open question is covered rightly.
  const asked = document.querySelector("dialog[open]") ?? document;
  for (const control of asked.querySelectorAll("button, a, input, textarea, h2")) {
    if (!control.checkVisibility({ visibilityProperty: true }) || control.closest(".grid, pre")) {
      continue;
    }
    const { left, right, top, bottom } = control.getBoundingClientRect();
    if (left < -1 || right > innerWidth + 1) {
      found.push(`${name(control)}: from ${left} to ${right}`);
    } else if (top >= 0 && bottom <= innerHeight && isScrolledTo(control)) {
      const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      if (seen === null || !(control.contains(seen) || seen.contains(control))) {
        found.push(`${name(control)}: covered by ${seen === null ? "nothing" : name(seen)}`);
      }
    }
  }
  return found;

  function isScrolledTo(control) {
    const { top, bottom } = control.getBoundingClientRect();
    for (let box = control.parentElement; box !== null; box = box.parentElement) {
      const around = box.getBoundingClientRect();
      if (getComputedStyle(box).overflowY !== "visible" && (bottom > around.bottom || top < around.top)) {
        return false;
      }
    }
    return true;
  }
}
