export type Point3 = [number, number, number];

/** A camera that orbits the origin. three.js, labels, hit tests and exports use the same projection. */
export class Camera {
  /** Angle around the vertical axis and angle above the horizon, in radians. */
  azimuth = 0.7;
  elevation = 0.42;
  distance = 3.9;
  /** Half of the vertical field of view, in radians. */
  readonly halfAngle = 0.33;
  private width = 1;
  private height = 1;

  reset(): void {
    this.azimuth = 0.7;
    this.elevation = 0.42;
    this.distance = 3.9;
  }
  turn(right: number, down: number): void {
    this.azimuth -= right;
    this.elevation = Math.min(1.5, Math.max(-1.5, this.elevation + down));
  }
  zoom(factor: number): void {
    this.distance = Math.min(12, Math.max(1.8, this.distance / factor));
  }
  /** Sets the size of the drawing area, which starts at the top left corner of the figure. */
  fit(width: number, height: number): void {
    this.width = width;
    this.height = height;
  }

  /** Returns the position of the camera. The third coordinate of the data points up. */
  position(): Point3 {
    const flat = Math.cos(this.elevation) * this.distance;
    return [flat * Math.cos(this.azimuth), flat * Math.sin(this.azimuth), this.distance * Math.sin(this.elevation)];
  }

  /** Pixels per unit at the middle of the scene. */
  get pixels(): number {
    return this.height / 2 / Math.tan(this.halfAngle) / this.distance;
  }

  project([x, y, z]: Point3): { x: number; y: number; depth: number; scale: number } {
    const ca = Math.cos(this.azimuth);
    const sa = Math.sin(this.azimuth);
    const ce = Math.cos(this.elevation);
    const se = Math.sin(this.elevation);
    const right = -sa * x + ca * y;
    const up = -se * ca * x - se * sa * y + ce * z;
    const depth = this.distance - (ce * ca * x + ce * sa * y + se * z);
    const scale = this.distance / depth;
    return {
      x: this.width / 2 + right * this.pixels * scale,
      y: this.height / 2 - up * this.pixels * scale,
      depth,
      scale,
    };
  }
}
