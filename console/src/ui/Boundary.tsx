import { Component, type ReactNode } from "react";
import { ErrorView } from "./ErrorView";

/** Boundary shows an error of its children instead of an empty page. */
export class Boundary extends Component<{ children: ReactNode }, { error?: unknown }> {
  override state: { error?: unknown } = {};

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return <ErrorView error={this.state.error} retry={() => window.location.reload()} />;
  }
}
