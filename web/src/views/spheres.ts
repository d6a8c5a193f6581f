import {
  AmbientLight,
  Color,
  DirectionalLight,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  PerspectiveCamera,
  Scene,
  SphereGeometry,
  WebGLRenderer,
} from "three";
import type { Camera, Point3 } from "./camera";

/** Draws shaded spheres with WebGL on a canvas behind the figure. */
export class Spheres {
  readonly canvas: HTMLCanvasElement;
  private readonly scene = new Scene();
  private readonly eye = new PerspectiveCamera();
  private readonly geometry = new SphereGeometry(1, 20, 14);
  private readonly material = new MeshLambertMaterial();
  private readonly lamp = new DirectionalLight(0xffffff, 1.6);
  private mesh: InstancedMesh | null = null;

  private constructor(private readonly renderer: WebGLRenderer) {
    this.canvas = renderer.domElement;
    this.canvas.className = "spheres";
    this.canvas.setAttribute("aria-hidden", "true");
    this.eye.up.set(0, 0, 1);
    this.scene.add(new AmbientLight(0xffffff, 2.1), this.lamp);
  }

  /** Returns null without WebGL; the figure then draws circles. */
  static create(): Spheres | null {
    try {
      const probe = document.createElement("canvas");
      if (!probe.getContext("webgl2")) return null;
      return new Spheres(new WebGLRenderer({ antialias: true, alpha: true }));
    } catch {
      return null;
    }
  }

  /** Draws on the figure without its legend at the bottom. `radius` is in pixels, at the center of the scene. */
  render(
    spheres: { point: Point3; color: string }[],
    camera: Camera,
    radius: number,
    width: number,
    height: number,
  ): void {
    const drawn = height - 50;
    this.renderer.setPixelRatio(window.devicePixelRatio || 1);
    this.renderer.setSize(width, drawn, false);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${drawn}px`;
    this.eye.fov = (camera.halfAngle * 2 * 180) / Math.PI;
    this.eye.aspect = width / drawn;
    this.eye.near = 0.1;
    this.eye.far = 40;
    this.eye.position.set(...camera.position());
    this.eye.lookAt(0, 0, 0);
    this.eye.updateProjectionMatrix();
    this.lamp.position.copy(this.eye.position).add({ x: 0, y: 0, z: 3 });
    this.fill(spheres, radius / camera.pixels);
    this.renderer.render(this.scene, this.eye);
  }

  private fill(spheres: { point: Point3; color: string }[], size: number): void {
    if (this.mesh?.count !== spheres.length) {
      if (this.mesh) {
        this.scene.remove(this.mesh);
        this.mesh.dispose();
      }
      this.mesh = new InstancedMesh(this.geometry, this.material, spheres.length);
      this.scene.add(this.mesh);
    }
    const matrix = new Matrix4();
    const color = new Color();
    spheres.forEach(({ point, color: name }, i) => {
      matrix.makeScale(size, size, size).setPosition(...point);
      this.mesh!.setMatrixAt(i, matrix);
      this.mesh!.setColorAt(i, color.set(name));
    });
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
    this.mesh.computeBoundingSphere();
  }
}
