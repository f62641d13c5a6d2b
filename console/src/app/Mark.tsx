import icon from "./icon.svg";

/** Mark is the sign of the product. */
export function Mark({ size = 24 }: { size?: number }) {
  return <img src={icon} width={size} height={size} alt="" />;
}
