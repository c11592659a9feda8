import java.util.List;

interface Shape {
    double area();
}

record Circle(double radius) implements Shape {
    public double area() {
        return Math.PI * radius * radius;
    }
}

public class Shapes {
    public static void main(String[] args) {
        List<Shape> shapes = List.of(new Circle(1), new Circle(2), () -> 7.5);
        double sum = 0;
        for (Shape shape : shapes) {
            sum += shape.area();
        }
        System.out.printf("%d shapes, area %.2f%n", shapes.size(), sum);
    }
}
