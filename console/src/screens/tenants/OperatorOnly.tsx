import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";

/** OperatorOnly is shown instead of tenants to those who are not the operator. */
export function OperatorOnly() {
  return <Page title="Tenants"><Empty title="Only the operator sees tenants">Sign in with the operator's key to create tenants and to change their limits.</Empty></Page>;
}
