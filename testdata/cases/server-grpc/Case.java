import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A gRPC server with 6 threads for calls; arguments: what is asked, by how many who wait for it, each how many milliseconds otherwise. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        Meter.start(seconds);
        AtomicInteger threads = new AtomicInteger();
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                .executor(Executors.newFixedThreadPool(6, task -> new Thread(task, "call-" + threads.incrementAndGet())))
                .addService(ServerServiceDefinition.builder("Quotes")
                        .addMethod(Quotes.ASK, ServerCalls.asyncUnaryCall(new Quotes()::answer)).build())
                .build().start();
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
        Customer customer = new Customer(channel, arguments[1]);
        for (int i = 0; i < 10; i++) {
            ClientCalls.blockingUnaryCall(channel, Quotes.ASK, CallOptions.DEFAULT, "quote");
        }
        Meter.threads(Integer.parseInt(arguments[2]), "customer", customer::ask);
        int millis = Integer.parseInt(arguments[3]);
        if (millis > 0) {
            Meter.each(millis, "customers", customer::askLater);
        }
        Meter.end(seconds, "call-");
    }
}

class Quotes {
    static final MethodDescriptor<String, String> ASK = MethodDescriptor.<String, String>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("Quotes/Ask")
            .setRequestMarshaller(new Text()).setResponseMarshaller(new Text()).build();

    void answer(String question, StreamObserver<String> answer) {
        Meter.handles();
        Meter.pause(50);
        Meter.handled();
        // "mislaid" is never answered, also not by an error.
        if (question.equals("quote")) {
            answer.onNext("9.99");
            answer.onCompleted();
        }
    }
}

class Customer {
    private final ManagedChannel channel;
    private final String question;

    Customer(ManagedChannel channel, String question) {
        this.channel = channel;
        this.question = question;
    }

    void ask() {
        Meter.waits();
        ClientCalls.blockingUnaryCall(channel, Quotes.ASK, CallOptions.DEFAULT, question);
        Meter.waited();
    }

    void askLater() {
        ClientCalls.asyncUnaryCall(channel.newCall(Quotes.ASK, CallOptions.DEFAULT), question, new StreamObserver<String>() {
            @Override
            public void onNext(String answer) {
            }

            @Override
            public void onError(Throwable failure) {
                failure.printStackTrace();
            }

            @Override
            public void onCompleted() {
            }
        });
    }
}

class Text implements MethodDescriptor.Marshaller<String> {
    @Override
    public InputStream stream(String text) {
        return new ByteArrayInputStream(text.getBytes());
    }

    @Override
    public String parse(InputStream in) {
        try {
            return new String(in.readAllBytes());
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
