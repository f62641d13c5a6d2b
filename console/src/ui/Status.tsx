import classes from "./Status.module.css";

const colors: Record<string, string> = {
  ready: "green", succeeded: "green", enabled: "green", active: "green", answers: "green", stored: "green", would_store: "green", done: "green", matches: "green",
  pending: "blue", queued: "blue", processing: "blue", running: "blue", building: "blue", copying: "blue", switching: "blue", dropping: "blue", waiting: "yellow", suspended: "yellow", paused: "yellow", "needs sign-in": "yellow",
  failed: "red", unusable: "red", error: "red", failing: "orange", needs_ocr: "orange", cancelled: "gray", disabled: "gray", revoked: "gray", expired: "gray",
};

/** Status shows the status of a document, job or run: a word, and a dot whose colour says whether to look at it. */
export function Status({ value }: { value: string }) {
  return <span className={classes.status} data-color={colors[value] ?? "gray"}>{value.replaceAll("_", " ")}</span>;
}
