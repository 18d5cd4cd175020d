// Checks of what a secured server shows to a browser that it does not know.

export const entryChecks = [];
