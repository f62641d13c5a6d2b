import { notifications } from "@mantine/notifications";
import { explain } from "./explain";

const closeButtonProps = { "aria-label": "Close" };

/** notifyDone tells for some seconds that an action has succeeded. */
export function notifyDone(message: string) {
  notifications.show({ message, color: "tide", withBorder: true, autoClose: 4000, closeButtonProps });
}

/** notifyError tells that an action has failed, and why, until it is closed. */
export function notifyError(error: unknown) {
  const { title, message, fields } = explain(error);
  notifications.show({ title, message: [message, ...fields.map((f) => `${f.field}: ${f.description}`)].join(" "), color: "red", withBorder: true, autoClose: false, closeButtonProps });
}
