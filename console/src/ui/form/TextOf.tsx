import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Textarea } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { isObject } from "./fields";
import classes from "./Form.module.css";

interface Props {
  label: string;
  description?: string;
  placeholder?: string;
  required?: boolean;
  disabled?: boolean;
  error?: ReactNode;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  /** Returns the value that a text stands for, or throws an error in words for people. */
  read: (text: string) => JsonValue | undefined;
  write: (value: JsonValue) => string;
}

/** TextOf edits a value as text. The value stays as it was while the text cannot be read. */
export function TextOf({ value, onChange, read, write, error, ...props }: Props) {
  const [typed, setTyped] = useState<{ text: string; value: JsonValue | undefined }>();
  const [problem, setProblem] = useState("");
  const mine = typed && (problem !== "" || typed.value === value);
  function change(text: string) {
    try {
      const next = read(text);
      setTyped({ text, value: next });
      setProblem("");
      onChange(next);
    } catch (why) {
      setTyped({ text, value });
      setProblem((why as Error).message);
    }
  }
  return (
    <Textarea
      {...props} error={problem || error} classNames={{ input: classes.code }} spellCheck={false} autosize minRows={2} maxRows={20}
      value={mine ? typed.text : value === undefined ? "" : write(value)} onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

/** readJson reads a JSON value; an empty text is none. */
export function readJson(text: string): JsonValue | undefined {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch (problem) {
    throw new Error(`This is not JSON yet: ${(problem as Error).message}`);
  }
}

/** writeJson writes a JSON value in several lines. */
export function writeJson(value: JsonValue): string {
  return JSON.stringify(value, null, 2);
}

/** readLines reads an object of texts from lines such as "Accept: text/plain". */
export function readLines(text: string): JsonValue | undefined {
  const object: JsonObject = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`The line "${line.trim()}" has no colon between a name and a value.`);
    object[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return Object.keys(object).length > 0 ? object : undefined;
}

/** writeLines writes an object of texts in lines. */
export function writeLines(value: JsonValue): string {
  if (!isObject(value)) return JSON.stringify(value);
  return Object.entries(value).map(([name, text]) => `${name}: ${typeof text === "string" ? text : JSON.stringify(text)}`).join("\n");
}
