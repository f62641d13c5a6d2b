import "@mantine/core/styles.layer.css";
import "@mantine/notifications/styles.layer.css";
import "virtual:theme.css";
import "@/app/base.css";
import { createRoot } from "react-dom/client";
import { App } from "@/app/App";

createRoot(document.getElementById("root")!).render(<App />);
