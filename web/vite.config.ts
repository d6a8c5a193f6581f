import { defineConfig } from "vite";
import { licenses } from "./licenses";
import { singleFile } from "./single_file";

export default defineConfig({
  base: "./",
  plugins: [singleFile(), licenses()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 1 << 24,
    chunkSizeWarningLimit: 3000,
    rollupOptions: {
      input: "template.html",
      output: { format: "iife", inlineDynamicImports: true },
    },
  },
});
