import { defineConfig } from "vite";

export default defineConfig({
  esbuild: { jsx: "automatic" },
  define: { "process.env": "{}", global: "globalThis" },
  build: { target: "esnext", minify: false, chunkSizeWarningLimit: 1e6, reportCompressedSize: false },
});
