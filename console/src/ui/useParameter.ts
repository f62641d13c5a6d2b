import { useSearchParams } from "react-router";

/** useParameter returns a parameter of the page's address, and sets it; the standard value is not written there. */
export function useParameter(name: string, standard = ""): [value: string, set: (value: string) => void] {
  const [parameters, setParameters] = useSearchParams();
  const set = (value: string) =>
    setParameters((old) => {
      const next = new URLSearchParams(old);
      if (value === standard) next.delete(name);
      else next.set(name, value);
      return next;
    }, { replace: true });
  return [parameters.get(name) ?? standard, set];
}
