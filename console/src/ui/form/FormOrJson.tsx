import type { JsonObject } from "@bufbuild/protobuf";
import { SegmentedControl, Textarea } from "@mantine/core";
import { useState } from "react";
import { parseObject, type Errors, type Field } from "./fields";
import { Form } from "./Form";
import classes from "./Form.module.css";

interface Props {
  /** What is edited, such as "Definition". */
  label: string;
  fields: Field[];
  value: JsonObject;
  onChange: (value: JsonObject) => void;
  errors?: Errors;
  /** Is told whether the text is JSON that can be read. */
  onValid: (valid: boolean) => void;
}

/** FormOrJson edits a JSON object in a form, or as JSON. */
export function FormOrJson({ label, fields, value, onChange, errors, onValid }: Props) {
  const [text, setText] = useState<string>();
  const [problem, setProblem] = useState("");
  function type(next: string) {
    setText(next);
    try {
      onChange(parseObject(next));
      setProblem("");
      onValid(true);
    } catch (why) {
      setProblem((why as Error).message);
      onValid(false);
    }
  }
  const asForm = text === undefined;
  return (
    <div className={classes.editor}>
      <div>
        <SegmentedControl
          size="xs" aria-label={`${label} as form or JSON`} data={["Form", "JSON"]} value={asForm ? "Form" : "JSON"} disabled={problem !== ""}
          onChange={(next) => setText(next === "JSON" ? JSON.stringify(value, null, 2) : undefined)}
        />
      </div>
      {asForm && fields.length > 0 && <Form fields={fields} value={value} onChange={onChange} errors={errors} />}
      {!asForm && <Textarea label={`${label} as JSON`} classNames={{ input: classes.code }} autosize minRows={8} maxRows={32} spellCheck={false} value={text} onChange={(event) => type(event.currentTarget.value)} error={problem} />}
    </div>
  );
}
